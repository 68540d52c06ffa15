// Work on another thread than the caller's.
#pragma once

#include <memory>

#include "napi.h"

namespace graticule::addon {

class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  /**
   * Runs on another thread, without any call of N-API. Exceptions reject the promise, a `Failure` with its message.
   */
  virtual void run() = 0;
  /** Returns the value that resolves the promise. Runs on the caller's thread after the work. */
  virtual napi_value result(napi_env env) = 0;
};

/** Starts a job; returns its promise. `held` is kept alive until the job has ended and its result exists. */
napi_value start(napi_env env, std::unique_ptr<Job> job, napi_value held);

}  // namespace graticule::addon
