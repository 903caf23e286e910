// CUDA graphs: what runs on a device is recorded once, and started again with one launch. libtorch's class for them lies in
// libtorch_cuda.so, which is opened at run time, so its functions are looked up by their names; no header of CUDA is needed.

#include "guarded.h"

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace {

using Pool = std::pair<unsigned long long, unsigned long long>; // at::MempoolId_t

// cudaStreamCaptureModeRelaxed: other threads may allocate memory meanwhile.
constexpr int relaxed = 2;

template <typename Function>
Function* symbol(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  TORCH_CHECK(found != nullptr, "this libtorch has no CUDA graphs (", name, " is not found)");
  return reinterpret_cast<Function*>(found);
}

// The members of at::cuda::CUDAGraph, whose first argument is the object.
struct Members {
  void (*construct)(void*, bool) = symbol<void(void*, bool)>("_ZN2at4cuda9CUDAGraphC1Eb");
  void (*destroy)(void*) = symbol<void(void*)>("_ZN2at4cuda9CUDAGraphD1Ev");
  void (*begin)(void*, Pool, int) =
      symbol<void(void*, Pool, int)>("_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode");
  void (*end)(void*) = symbol<void(void*)>("_ZN2at4cuda9CUDAGraph11capture_endEv");
  void (*replay)(void*) = symbol<void(void*)>("_ZN2at4cuda9CUDAGraph6replayEv");
};

const Members& members() {
  static const Members found;
  return found;
}

// Whether a record could not be ended: libtorch's allocator then takes it for running, and no other may begin.
std::atomic<bool> has_failed{false};

// The device and the stream of a record, instead of those before.
class Place {
  c10::impl::VirtualGuardImpl guard;
  c10::Device device_before;
  c10::Stream stream_before;

 public:
  explicit Place(c10::Device device)
      : guard(device.type()),
        device_before(guard.exchangeDevice(device)),
        // The default stream cannot be recorded.
        stream_before(guard.exchangeStream(guard.getStreamFromGlobalPool(device))) {}
  Place(const Place&) = delete;
  ~Place() {
    guard.exchangeStream(stream_before);
    guard.setDevice(device_before);
  }
};

struct Graph {
  alignas(64) std::byte object[1024]; // at::cuda::CUDAGraph has less than 300 bytes
  std::unique_ptr<Place> place; // while it is recorded

  explicit Graph(c10::Device device) {
    members(); // refused here where there are none
    TORCH_CHECK(!has_failed, "an earlier record could not be ended");
    place = std::make_unique<Place>(device);
    members().construct(object, false);
  }

  void end() {
    const auto until_here = std::move(place);
    has_failed = true;
    members().end(object);
    has_failed = false;
  }

  ~Graph() {
    std::free(guarded([&] { members().destroy(object); }));
  }
};

} // namespace

extern "C" {

// Begins to record what this thread starts on a CUDA device. The caller gives the graph to `costar_drop_graph` in the end.
char* costar_begin_graph(int64_t index, void** made) {
  return guarded([&] {
    auto graph = std::make_unique<Graph>(c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)));
    try {
      members().begin(graph->object, {0, 0}, relaxed);
    } catch (...) {
      graph->place.reset();
      throw;
    }
    *made = graph.release();
  });
}

// Ends the record.
char* costar_end_graph(void* graph) {
  return guarded([&] { static_cast<Graph*>(graph)->end(); });
}

// Starts what was recorded.
char* costar_start_graph(void* graph) {
  return guarded([&] { members().replay(static_cast<Graph*>(graph)->object); });
}

void costar_drop_graph(void* graph) {
  // A graph that could not be ended stays in memory: the allocator refers to it.
  if (!has_failed) {
    delete static_cast<Graph*>(graph);
  }
}

} // extern "C"
