#pragma once

/** Headers that many sources include: compile.mjs precompiles them once for each set of flags. Sources include what they use all the same. */

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#if __has_include(<napi.h>)
#include <napi.h>
#endif
