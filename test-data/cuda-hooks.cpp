// A stand-in for libtorch_cuda.so, for tests on machines without a GPU. As the real one, it enters its hooks into libtorch's
// registry when it is opened. libtorch looks there once, at the first call that has to do with CUDA: a call before that
// switches CUDA off for the process.

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
