// The part of gloo that ProcessGroupGloo.hpp needs; libtorch comes without gloo's headers: types that it holds by pointer
// alone, and the base of a class that is never made here. The layout of ProcessGroupGloo does not depend on them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace transport {
class Device;
class UnboundBuffer;
} // namespace transport

namespace rendezvous {

class Store {
 public:
  virtual ~Store();
  virtual void set(const std::string& key, const std::vector<char>& value) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) = 0;
};

} // namespace rendezvous
} // namespace gloo
