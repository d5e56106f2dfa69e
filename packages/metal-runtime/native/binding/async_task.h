#pragma once

#include <napi.h>

#include <functional>
#include <utility>

#include "guard.h"
#include "status_error.h"

namespace markbase {

/** Runs native work off the JavaScript thread and settles a promise with the result. */
class AsyncTask : public Napi::AsyncWorker {
 public:
  using Work = std::function<Status()>;
  using Result = std::function<Napi::Value(Napi::Env)>;

  /**
   * `work` runs on a pool thread; after success, `result` creates the promise's value on the JavaScript thread.
   *
   * @param where names the work in errors
   */
  static Napi::Promise start(Napi::Env env, const char* where, Work work, Result result) {
    auto* task = new AsyncTask(env, where, std::move(work), std::move(result));
    task->Queue();
    return task->deferred_.Promise();
  }

 private:
  AsyncTask(Napi::Env env, const char* where, Work work, Result result)
      : Napi::AsyncWorker(env),
        deferred_(Napi::Promise::Deferred::New(env)),
        where_(where),
        work_(std::move(work)),
        result_(std::move(result)) {}

  // An exception that escaped Execute would go to OnError, and the promise would never settle.
  void Execute() override { status_ = guarded(where_, work_); }
  void OnOK() override {
    if (status_.ok()) deferred_.Resolve(result_(Env()));
    else deferred_.Reject(to_error(Env(), status_).Value());
  }

  Napi::Promise::Deferred deferred_;
  const char* where_;
  Work work_;
  Result result_;
  Status status_;
};

}  // namespace markbase
