/**
 * Contexts of PROJ that read grids and settings from PROJ's own folders only. A definition of a CRS can name any file, and
 * PROJ opens it inside GDAL, before anyone could check the definition.
 *
 * GDAL makes its contexts itself, one a thread, and has no setting for this. So this library defines the functions that
 * GDAL makes them with; loaded globally before GDAL, they are the ones that GDAL is linked with. It needs no other
 * library, because those would become global with it.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <limits.h>
#include <node_api.h>
#include <proj.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

constexpr int kMaxFolders = 64;
char* folders[kMaxFolders];
int folderCount = 0;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/** The function of PROJ that a caller would have been linked with. */
void* find(const char* name, const void* caller) {
  Dl_info library;
  if (dladdr(caller, &library) == 0) abort();
  void* handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void* found = handle == nullptr ? nullptr : dlsym(handle, name);
  if (handle != nullptr) dlclose(handle);
  // Without it there would be contexts that read anything.
  if (found == nullptr) abort();
  return found;
}

template <typename Function>
Function* original(const char* name, const void* caller) {
  return reinterpret_cast<Function*>(find(name, caller));
}

void addFolder(const char* path) {
  char* real = realpath(path, nullptr);
  if (real == nullptr) return;
  pthread_mutex_lock(&mutex);
  bool isNew = folderCount < kMaxFolders && strcmp(real, "/") != 0;
  for (int i = 0; i < folderCount && isNew; i++) isNew = strcmp(folders[i], real) != 0;
  if (isNew) folders[folderCount++] = real;
  pthread_mutex_unlock(&mutex);
  if (!isNew) free(real);
}

/** Returns the resolved path of a file in one of the folders, which the caller frees. Null for all other files. */
char* findOwn(const char* path) {
  char* real = realpath(path, nullptr);
  if (real == nullptr) return nullptr;
  bool isOwn = false;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < folderCount && !isOwn; i++) {
    const size_t length = strlen(folders[i]);
    isOwn = strncmp(real, folders[i], length) == 0 && real[length] == '/';
  }
  pthread_mutex_unlock(&mutex);
  if (isOwn) return real;
  free(real);
  return nullptr;
}

FILE* fileOf(PROJ_FILE_HANDLE* handle) { return reinterpret_cast<FILE*>(handle); }

PROJ_FILE_HANDLE* openFile(PJ_CONTEXT*, const char* path, PROJ_OPEN_ACCESS access, void*) {
  if (access != PROJ_OPEN_ACCESS_READ_ONLY) return nullptr;
  char* real = findOwn(path);
  if (real == nullptr) return nullptr;
  FILE* file = fopen(real, "rbe");
  free(real);
  return reinterpret_cast<PROJ_FILE_HANDLE*>(file);
}

size_t readFile(PJ_CONTEXT*, PROJ_FILE_HANDLE* handle, void* buffer, size_t bytes, void*) {
  return fread(buffer, 1, bytes, fileOf(handle));
}

size_t writeFile(PJ_CONTEXT*, PROJ_FILE_HANDLE*, const void*, size_t, void*) { return 0; }

int seekFile(PJ_CONTEXT*, PROJ_FILE_HANDLE* handle, long long offset, int whence, void*) {
  return fseeko(fileOf(handle), offset, whence) == 0 ? 1 : 0;
}

unsigned long long tellFile(PJ_CONTEXT*, PROJ_FILE_HANDLE* handle, void*) {
  return static_cast<unsigned long long>(ftello(fileOf(handle)));
}

void closeFile(PJ_CONTEXT*, PROJ_FILE_HANDLE* handle, void*) { fclose(fileOf(handle)); }

int existsFile(PJ_CONTEXT*, const char* path, void*) {
  char* real = findOwn(path);
  if (real == nullptr) return 0;
  free(real);
  return 1;
}

int refuse(PJ_CONTEXT*, const char*, void*) { return 0; }
int refuseRename(PJ_CONTEXT*, const char*, const char*, void*) { return 0; }

constexpr PROJ_FILE_API kFileApi = {1,         openFile,   readFile, writeFile, seekFile,    tellFile,
                                    closeFile, existsFile, refuse,   refuse,    refuseRename};

/** The folders that PROJ itself searches, by its installation and the environment of the process. */
void addDefaultFolders(const void* caller) {
  static bool isDone = false;
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&once);
  if (isDone) {
    pthread_mutex_unlock(&once);
    return;
  }
  const PJ_INFO info = original<decltype(proj_info)>("proj_info", caller)();
  char* paths = info.searchpath == nullptr ? nullptr : strdup(info.searchpath);
  char* rest = nullptr;
  for (char* path = paths; path != nullptr; path = rest) {
    rest = strchr(path, ':');
    if (rest != nullptr) *rest++ = '\0';
    addFolder(path);
  }
  free(paths);
  isDone = true;
  pthread_mutex_unlock(&once);
}

PJ_CONTEXT* confine(PJ_CONTEXT* context, const void* caller) {
  if (context == nullptr) return nullptr;
  addDefaultFolders(caller);
  const auto setFileApi = original<decltype(proj_context_set_fileapi)>("proj_context_set_fileapi", caller);
  if (setFileApi(context, &kFileApi, nullptr) == 0) abort();
  original<decltype(proj_context_set_enable_network)>("proj_context_set_enable_network", caller)(context, 0);
  return context;
}

}  // namespace

#define GLOBAL extern "C" __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

GLOBAL PJ_CONTEXT* proj_context_create(void) {
  return confine(original<decltype(proj_context_create)>("proj_context_create", CALLER)(), CALLER);
}

GLOBAL PJ_CONTEXT* proj_context_clone(PJ_CONTEXT* context) {
  return confine(original<decltype(proj_context_clone)>("proj_context_clone", CALLER)(context), CALLER);
}

GLOBAL void proj_context_set_search_paths(PJ_CONTEXT* context, int count, const char* const* paths) {
  for (int i = 0; i < count; i++) addFolder(paths[i]);
  original<decltype(proj_context_set_search_paths)>("proj_context_set_search_paths", CALLER)(context, count, paths);
}

NAPI_MODULE_INIT() {
  (void)env;
  return exports;
}
