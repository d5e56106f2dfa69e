#pragma once

#include <napi.h>

#include <functional>
#include <utility>

#include "status_error.h"

namespace markbase {

/** Runs native work away from the JavaScript thread and settles a promise with what it gives. */
class AsyncTask : public Napi::AsyncWorker {
 public:
  using Work = std::function<Status()>;
  using Result = std::function<Napi::Value(Napi::Env)>;

  /** `work` runs on a pool thread; `result` makes the promise's value on the JavaScript thread, after success. */
  static Napi::Promise start(Napi::Env env, Work work, Result result) {
    auto* task = new AsyncTask(env, std::move(work), std::move(result));
    task->Queue();
    return task->deferred_.Promise();
  }

 private:
  AsyncTask(Napi::Env env, Work work, Result result)
      : Napi::AsyncWorker(env),
        deferred_(Napi::Promise::Deferred::New(env)),
        work_(std::move(work)),
        result_(std::move(result)) {}

  void Execute() override { status_ = work_(); }
  void OnOK() override {
    if (status_.ok()) deferred_.Resolve(result_(Env()));
    else deferred_.Reject(to_error(Env(), status_).Value());
  }

  Napi::Promise::Deferred deferred_;
  Work work_;
  Result result_;
  Status status_;
};

}  // namespace markbase
