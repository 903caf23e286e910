// torch.distributed (c10d) with a C interface: the key-value store of a group of processes, and collectives on the CPU by
// gloo. Every function gives nullptr, or a message that is freed with free().

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
using Group = c10::intrusive_ptr<c10d::ProcessGroupGloo>;
using Work = c10::intrusive_ptr<c10d::Work>;

Store& store_of(void* store) {
  return *static_cast<Store*>(store);
}

Group& group_of(void* group) {
  return *static_cast<Group*>(group);
}

// Begins a collective. c10d's flight recorder, one for the whole process, puts each new group into a std::map without a
// lock of its own (FlightRecorder::recordWithResetEnabled, PyTorch 2.11): groups on several threads would break the map.
template <typename Begin>
char* begun(void** work, Begin begin) {
  static std::mutex recording;
  return guarded([&] {
    std::lock_guard lock(recording);
    *work = new Work(begin());
  });
}

} // namespace

extern "C" {

// Opens the store at an address; `serve` says whether this process is the one that holds it.
char* costar_store_open(
    const char* host,
    uint16_t port,
    bool serve,
    int64_t milliseconds,
    const char* prefix,
    void** store) {
  return guarded([&] {
    // What it logs of a lost connection is a page of frames; the error says what has happened.
    if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) {
      FLAGS_caffe2_log_level = 3;
    }
    c10d::TCPStoreOptions options;
    options.port = port;
    options.isServer = serve;
    options.waitWorkers = false;
    options.timeout = Milliseconds(milliseconds);
    auto tcp = c10::make_intrusive<c10d::TCPStore>(host, options);
    *store = new Store(c10::make_intrusive<c10d::PrefixStore>(prefix, std::move(tcp)));
  });
}

// The same store, for keys that begin with a prefix.
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

// Waits for the key.
char* costar_store_get(void* store, const char* key, uint8_t** bytes, size_t* length) {
  return guarded([&] {
    const auto value = store_of(store)->get(key);
    *bytes = static_cast<uint8_t*>(std::malloc(value.size() + 1));
    *length = value.size();
    std::memcpy(*bytes, value.data(), value.size());
  });
}

// `hostname` and `interface` say where this process is reached; either may be null.
char* costar_group_open(
    void* store,
    int rank,
    int size,
    int64_t milliseconds,
    const char* hostname,
    const char* interface,
    void** group) {
  return guarded([&] {
    auto options = c10d::ProcessGroupGloo::Options::create(Milliseconds(milliseconds));
    if (interface != nullptr) {
      options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(interface));
    } else if (hostname != nullptr) {
      options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(hostname));
    } else {
      options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
    }
    *group = new Group(c10::make_intrusive<c10d::ProcessGroupGloo>(store_of(store), rank, size, options));
  });
}

void costar_group_close(void* group) {
  delete static_cast<Group*>(group);
}

// The collectives begin here, and are waited for with costar_work_wait: their memory is used until then.

// The sums over all ranks, in place.
char* costar_group_sum(void* group, float* numbers, int64_t count, int64_t milliseconds, void** work) {
  return begun(work, [&] {
    std::vector<at::Tensor> tensors{at::from_blob(numbers, {count}, at::kFloat)};
    c10d::AllreduceOptions options;
    options.timeout = Milliseconds(milliseconds);
    return group_of(group)->allreduce(tensors, options);
  });
}

// What the root has, in place.
char* costar_group_broadcast(
    void* group,
    uint8_t* bytes,
    int64_t count,
    int root,
    int64_t milliseconds,
    void** work) {
  return begun(work, [&] {
    std::vector<at::Tensor> tensors{at::from_blob(bytes, {count}, at::kByte)};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    options.timeout = Milliseconds(milliseconds);
    return group_of(group)->broadcast(tensors, options);
  });
}

// Sends counts_to[r] bytes to each rank r, one part after the other, and takes counts_from[r] bytes from each.
char* costar_group_all_to_all(
    void* group,
    uint8_t* from,
    const int64_t* counts_from,
    const uint8_t* to,
    const int64_t* counts_to,
    int size,
    int64_t milliseconds,
    void** work) {
  return begun(work, [&] {
    std::vector<int64_t> taken(counts_from, counts_from + size), sent(counts_to, counts_to + size);
    const auto total = [](const std::vector<int64_t>& counts) {
      return std::accumulate(counts.begin(), counts.end(), int64_t{0});
    };
    auto output = at::from_blob(from, {total(taken)}, at::kByte);
    auto input = at::from_blob(const_cast<uint8_t*>(to), {total(sent)}, at::kByte);
    c10d::AllToAllOptions options;
    options.timeout = Milliseconds(milliseconds);
    return group_of(group)->alltoall_base(output, input, taken, sent, options);
  });
}

// Waits for so long, and says whether the work has ended; the message is that of the work.
char* costar_work_wait(void* work, int64_t milliseconds, bool* ended) {
  return guarded([&] {
    auto& waited = *static_cast<Work*>(work);
    try {
      waited->wait(Milliseconds(milliseconds));
      *ended = true;
    } catch (...) {
      *ended = waited->isCompleted();
      if (*ended) {
        waited->wait(); // it may have ended well just after the time was up: throws its own error, if any
      }
    }
  });
}

void costar_work_free(void* work) {
  delete static_cast<Work*>(work);
}

} // extern "C"
