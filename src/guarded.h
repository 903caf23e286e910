// What throws in libtorch, for callers that are not C++: a text, which the caller frees with free(), or nullptr where all went
// well.

#pragma once

#include <c10/util/Exception.h>

#include <cstring>
#include <exception>

template <typename Call>
char* guarded(Call call) {
  try {
    call();
    return nullptr;
  } catch (const c10::Error& error) {
    return strdup(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return strdup(error.what());
  } catch (...) {
    return strdup("an unknown error");
  }
}
