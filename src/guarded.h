// Turns a C++ exception into an error message for callers in C: nullptr on success, else a text that the caller frees with
// free().

#pragma once

#include <c10/util/Exception.h>

#include <cstdlib>
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
