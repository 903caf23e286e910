// A stand-in for libtorch_cuda.so in tests on machines without a GPU. Like the real library, it registers its hooks in libtorch
// when it is opened. libtorch looks them up once, at the first call about CUDA: an earlier call disables CUDA for the process.

#include <ATen/detail/CUDAHooksInterface.h>

namespace {

struct CUDAHooks : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}

  bool hasCUDA() const override {
    return true;
  }

  int getNumGPUs() const override {
    return 1;
  }

  c10::DeviceIndex deviceCount() const override {
    return 1;
  }

  bool isAvailable() const override {
    return true;
  }
};

} // namespace

namespace at {
using ::CUDAHooks;
REGISTER_CUDA_HOOKS(CUDAHooks)
} // namespace at
