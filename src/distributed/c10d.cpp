// C interface of torch.distributed (c10d): the key-value store of a group of processes, and gloo's collectives on the CPU.
// Every function returns nullptr, or an error message that the caller frees with free().

#define USE_C10D_GLOO

#include "guarded.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <c10/util/Logging.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <string>

namespace {

using Milliseconds = std::chrono::milliseconds;
using Store = c10::intrusive_ptr<c10d::Store>;
using Work = c10::intrusive_ptr<c10d::Work>;

struct Group {
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  Milliseconds timeout; // of a collective
};

Store& store_of(void* store) {
  return *static_cast<Store*>(store);
}

Group& group_of(void* group) {
  return *static_cast<Group*>(group);
}

// Starts a collective. The lock protects c10d's flight recorder: it inserts each new group into a process-wide std::map
// without locking (FlightRecorder::recordWithResetEnabled, PyTorch 2.11), which groups on several threads would corrupt.
template <typename Start>
char* started(void** work, Start start) {
  static std::mutex recorder;
  return guarded([&] {
    std::lock_guard lock(recorder);
    *work = new Work(start());
  });
}

} // namespace

extern "C" {

// Connects to the store at an address; with `serve`, hosts it in this process.
char* costar_store_open(
    const char* host,
    uint16_t port,
    bool serve,
    int64_t timeout_ms,
    const char* prefix,
    void** store) {
  return guarded([&] {
    // A lost connection would log a page of stack frames; the error says what happened.
    if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) {
      FLAGS_caffe2_log_level = 3;
    }
    c10d::TCPStoreOptions options;
    options.port = port;
    options.isServer = serve;
    options.waitWorkers = false;
    options.timeout = Milliseconds(timeout_ms);
    auto tcp = c10::make_intrusive<c10d::TCPStore>(host, options);
    *store = new Store(c10::make_intrusive<c10d::PrefixStore>(prefix, std::move(tcp)));
  });
}

// The same store, with a prefix before every key.
char* costar_store_within(void* store, const char* prefix, void** within) {
  return guarded([&] { *within = new Store(c10::make_intrusive<c10d::PrefixStore>(prefix, store_of(store))); });
}

void costar_store_close(void* store) {
  delete static_cast<Store*>(store);
}

char* costar_store_add(void* store, const char* key, int64_t by, int64_t* sum) {
  return guarded([&] { *sum = store_of(store)->add(key, by); });
}

char* costar_store_set(void* store, const char* key, const uint8_t* bytes, size_t length) {
  return guarded([&] { store_of(store)->set(key, std::vector<uint8_t>(bytes, bytes + length)); });
}

char* costar_store_has(void* store, const char* key, bool* has) {
  return guarded([&] { *has = store_of(store)->check({key}); });
}

// Blocks until the key exists.
char* costar_store_get(void* store, const char* key, uint8_t** bytes, size_t* length) {
  return guarded([&] {
    const auto value = store_of(store)->get(key);
    *bytes = static_cast<uint8_t*>(std::malloc(value.size() + 1));
    *length = value.size();
    std::memcpy(*bytes, value.data(), value.size());
  });
}

// `hostname` or `interface` names the address where the other ranks reach this process; either may be null.
char* costar_group_open(
    void* store,
    int rank,
    int size,
    int64_t connect_ms,
    int64_t collective_ms,
    const char* hostname,
    const char* interface,
    void** group) {
  return guarded([&] {
    auto options = c10d::ProcessGroupGloo::Options::create(Milliseconds(connect_ms));
    if (interface != nullptr) {
      options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(interface));
    } else if (hostname != nullptr) {
      options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(hostname));
    } else {
      options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
    }
    auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store_of(store), rank, size, options);
    *group = new Group{std::move(gloo), Milliseconds(collective_ms)};
  });
}

void costar_group_close(void* group) {
  delete static_cast<Group*>(group);
}

// Each collective starts here and ends in costar_work_wait; its memory must stay valid until then.

// Sums over all ranks, in place.
char* costar_group_sum(void* group, float* numbers, int64_t count, void** work) {
  return started(work, [&] {
    std::vector<at::Tensor> tensors{at::from_blob(numbers, {count}, at::kFloat)};
    c10d::AllreduceOptions options;
    options.timeout = group_of(group).timeout;
    return group_of(group).gloo->allreduce(tensors, options);
  });
}

// Copies the bytes of rank 0 to all ranks, in place.
char* costar_group_broadcast(void* group, uint8_t* bytes, int64_t count, void** work) {
  return started(work, [&] {
    std::vector<at::Tensor> tensors{at::from_blob(bytes, {count}, at::kByte)};
    c10d::BroadcastOptions options;
    options.timeout = group_of(group).timeout;
    return group_of(group).gloo->broadcast(tensors, options);
  });
}

// Sends counts_to[r] bytes to each rank r, the parts in rank order, and receives counts_from[r] bytes from each.
char* costar_group_all_to_all(
    void* group,
    uint8_t* from,
    const int64_t* counts_from,
    const uint8_t* to,
    const int64_t* counts_to,
    void** work) {
  return started(work, [&] {
    const auto size = group_of(group).gloo->getSize();
    std::vector<int64_t> received(counts_from, counts_from + size), sent(counts_to, counts_to + size);
    const auto total = [](const std::vector<int64_t>& counts) {
      return std::accumulate(counts.begin(), counts.end(), int64_t{0});
    };
    auto output = at::from_blob(from, {total(received)}, at::kByte);
    auto input = at::from_blob(const_cast<uint8_t*>(to), {total(sent)}, at::kByte);
    c10d::AllToAllOptions options;
    options.timeout = group_of(group).timeout;
    return group_of(group).gloo->alltoall_base(output, input, received, sent, options);
  });
}

// Waits at most this long, and reports whether the work has ended; returns the work's error.
char* costar_work_wait(void* work, int64_t timeout_ms, bool* ended) {
  return guarded([&] {
    auto& waited = *static_cast<Work*>(work);
    try {
      waited->wait(Milliseconds(timeout_ms));
      *ended = true;
    } catch (...) {
      *ended = waited->isCompleted();
      if (*ended) {
        waited->wait(); // it may have ended just after the timeout: throws its error, if any
      }
    }
  });
}

void costar_work_free(void* work) {
  delete static_cast<Work*>(work);
}

} // extern "C"
