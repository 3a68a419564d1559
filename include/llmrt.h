/* llmrt: embeddable LLM inference runtime. This header is the whole interface.
 *
 *   llmrt_model *m; char *s;
 *   if (llmrt_model_load(NULL, "m.gguf", NULL, &m) || llmrt_model_ask(m, "Why is the sky blue?", NULL, &s))
 *     return puts(llmrt_last_error()), 1;
 *   puts(s); llmrt_free(s); llmrt_model_release(m);
 *
 * Tiers, from simple to full: ask (model_ask, session_ask) | sessions (chat history) | requests and events.
 *
 * Handles   hold index and generation, never an address. NULL or the wrong kind: LLMRT_ERR_INVALID_ARGUMENT; released:
 *           LLMRT_ERR_CLOSED. Children keep their parents alive; release in any order, from any thread, more than once.
 * Structs   begin with struct_size. Options are filled by llmrt_*_init(&o, sizeof o). What a function fills in (event, info, usage,
 *           metrics) needs its struct_size set by you before the call: info.struct_size = sizeof info. Fields are only ever
 *           appended and zero in an appended field means "default". NULL options mean defaults. Pads must be zero.
 * Numbers   outside the range that stands beside an option (none: 0 and up): LLMRT_ERR_INVALID_ARGUMENT, which names option, value
 *           and range.
 * Buffers   out, cap: NULL with cap 0 asks for the size (LLMRT_ERR_BUFFER_TOO_SMALL, and the count is set).
 * Strings   in: UTF-8, NUL-terminated or pointer and length. Out (char **): yours, give back with llmrt_free; NULL after a failure.
 *           const char * in structs and returns: borrowed; lives as long as its owner, event text until the next `next` on that queue,
 *           error text until the next failure on that thread (or handle).
 * Results   negative: failure (llmrt_last_error, per thread, says what; success does not clear it), 0: done, positive: done,
 *           with news. A function that returns a count returns the negative status instead when it fails.
 * Threads   every function may be called from any thread at any time. After fork() every call in the child answers
 *           LLMRT_ERR_CLOSED, but for version, version_string, status_name, last_error, last_error_info, the inits and free.
 * Callbacks must not throw or block. Where they run stands with their types. on_event, on_logits and log may call what reads,
 *           tokenizes or renders, the releases, strlist_*, llmrt_request_cancel, llmrt_job_cancel and llmrt_job_take_model; what
 *           makes, starts, waits or steers answers LLMRT_ERR_BUSY there. alloc, dealloc, thread_hook, read and done call nothing
 *           of this library.
 */
#ifndef LLMRT_H
#define LLMRT_H

#include <stddef.h>
#include <stdint.h>

#define LLMRT_VERSION_MAJOR 0
#define LLMRT_VERSION_MINOR 1
#define LLMRT_VERSION_PATCH 0
#define LLMRT_VERSION \
  (LLMRT_VERSION_MAJOR * 1000000 + LLMRT_VERSION_MINOR * 1000 + LLMRT_VERSION_PATCH)

#if defined(_WIN32) && !defined(LLMRT_STATIC)
#if defined(LLMRT_BUILDING)
#define LLMRT_API __declspec(dllexport)
#else
#define LLMRT_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define LLMRT_API __attribute__((visibility("default")))
#else
#define LLMRT_API
#endif
#if defined(_WIN32)
#define LLMRT_CALL __cdecl
#else
#define LLMRT_CALL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status, version, errors ------------------------------------------------------------------------------------------- */

typedef int32_t llmrt_status;
enum llmrt_status_code {
  LLMRT_OK = 0,
  LLMRT_PENDING = 1, /* nothing yet, or more work waits */
  LLMRT_END = 2,     /* stream drained */
  LLMRT_ERR_INTERNAL = -1,
  LLMRT_ERR_INVALID_ARGUMENT = -2,
  LLMRT_ERR_OUT_OF_MEMORY = -3,
  LLMRT_ERR_NOT_FOUND = -4,
  LLMRT_ERR_IO = -5,
  LLMRT_ERR_FORMAT = -6,
  LLMRT_ERR_UNSUPPORTED = -7,
  LLMRT_ERR_BUSY = -8,
  LLMRT_ERR_CANCELLED = -9,
  LLMRT_ERR_TIMEOUT = -10,
  LLMRT_ERR_BUFFER_TOO_SMALL = -11,
  LLMRT_ERR_CONTEXT_FULL = -12,
  LLMRT_ERR_MEMORY_BUDGET = -13,
  LLMRT_ERR_DEVICE = -14,
  LLMRT_ERR_DEVICE_LOST = -15,
  LLMRT_ERR_GRAMMAR = -16,
  LLMRT_ERR_TEMPLATE = -17,
  LLMRT_ERR_STATE_MISMATCH = -18,
  LLMRT_ERR_VERSION = -19,
  LLMRT_ERR_CLOSED = -20,
  LLMRT_ERR_QUEUE_FULL = -21
};

typedef struct llmrt_error_info {
  uint32_t struct_size;
  llmrt_status status;
  int32_t sys_code;     /* errno, 0 if none */
  int32_t line, column; /* of a template or JSON text, from 1; 0 if not known */
  int32_t pad0;
  /* one sentence: the thing, what was found, what is allowed; at most 511 bytes: a long name in it loses its middle or end */
  const char* message;
  const char* where; /* file, tensor, key, option; "" if not known */
} llmrt_error_info;

/* Version of the library: major * 1000000 + minor * 1000 + patch.
 * Any thread; never fails. */
LLMRT_API uint32_t LLMRT_CALL llmrt_version(void);
/* The version as text, "0.1.0"; static.
 * Any thread; never fails. */
LLMRT_API const char* LLMRT_CALL llmrt_version_string(void);
/* Pass LLMRT_VERSION: checks the header you compiled with against the library you run with.
 * Any thread. ERR_VERSION if the major numbers differ or the library is older. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_check_version(uint32_t header_version);
/* Revision of a named feature ("chat", "sessions", "backend.cpu", ...), 0 if this library does not have it.
 * Any thread. NULL: ERR_INVALID_ARGUMENT. */
LLMRT_API int32_t LLMRT_CALL llmrt_feature(const char* name);
/* Name of a status code, "ERR_NOT_FOUND"; "?" for a number that is none. Static.
 * Any thread; never fails. */
LLMRT_API const char* LLMRT_CALL llmrt_status_name(llmrt_status status);
/* One sentence about the last failure on this thread, "" if there was none; valid until the next failure on this thread.
 * Any thread; never fails; allocates nothing. */
LLMRT_API const char* LLMRT_CALL llmrt_last_error(void);
/* The last failure on this thread in parts; strings are valid until the next failure on this thread.
 * Any thread; allocates nothing. A failure of this very call is returned but not recorded. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_last_error_info(llmrt_error_info* out);
/* Gives back memory that a char ** out-parameter received. NULL is fine.
 * Any thread; never fails. */
LLMRT_API void LLMRT_CALL llmrt_free(void* p);

/* ---- handles ----------------------------------------------------------------------------------------------------------- */

typedef struct llmrt_runtime llmrt_runtime;
typedef struct llmrt_source llmrt_source;
typedef struct llmrt_plan llmrt_plan;
typedef struct llmrt_model llmrt_model;
typedef struct llmrt_engine llmrt_engine;
typedef struct llmrt_session llmrt_session;
typedef struct llmrt_request llmrt_request;
typedef struct llmrt_job llmrt_job;
typedef struct llmrt_strlist llmrt_strlist;

/* Give a handle back. NULL and a second release do nothing; children of the object keep it alive until they go too.
 * Any thread, callbacks included. Releasing a live request or job cancels it; never waits for it; of a session's answer nothing is
 * kept then, the message it was to answer stays (llmrt_request_cancel can keep it). With the last handle of engine,
 * sessions and requests the engine ends: what it still does is ended, and on_event gets what it has not had, up to DONE, on a
 * thread of the library; threading 1: inside the release. Releasing a paused engine resumes it for what else is held. */
LLMRT_API void LLMRT_CALL llmrt_runtime_release(llmrt_runtime* runtime);
LLMRT_API void LLMRT_CALL llmrt_source_release(llmrt_source* source);
LLMRT_API void LLMRT_CALL llmrt_plan_release(llmrt_plan* plan);
LLMRT_API void LLMRT_CALL llmrt_model_release(llmrt_model* model);
LLMRT_API void LLMRT_CALL llmrt_engine_release(llmrt_engine* engine);
LLMRT_API void LLMRT_CALL llmrt_session_release(llmrt_session* session);
LLMRT_API void LLMRT_CALL llmrt_request_release(llmrt_request* request);
LLMRT_API void LLMRT_CALL llmrt_job_release(llmrt_job* job);
LLMRT_API void LLMRT_CALL llmrt_strlist_release(llmrt_strlist* list);

/* An empty list of strings: stands for char ** in options.
 * Any thread. ERR_OUT_OF_MEMORY. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_strlist_create(llmrt_strlist** out);
/* Appends a copy of a UTF-8 string.
 * Any thread. ERR_INVALID_ARGUMENT: not UTF-8. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_strlist_add(llmrt_strlist* list, const char* utf8);
/* Number of strings.
 * Any thread. */
LLMRT_API int32_t LLMRT_CALL llmrt_strlist_count(const llmrt_strlist* list);
/* String i; valid as long as the list. NULL: no such entry or handle (llmrt_last_error says which).
 * Any thread. */
LLMRT_API const char* LLMRT_CALL llmrt_strlist_get(const llmrt_strlist* list, int32_t i);

/* ---- runtime: hooks, threads, devices. NULL runtime anywhere: a shared default, made on first use ------------------------- */

/* Any thread, several at once. level: 1 to 4 as log_level. message: one line, valid during the call. */
typedef void(LLMRT_CALL* llmrt_log_fn)(void* user, int32_t level, const char* message);
/* Any thread, several at once. alloc: NULL is out of memory. dealloc: size and align as they were asked for. */
typedef void*(LLMRT_CALL* llmrt_alloc_fn)(void* user, size_t size, size_t align);
typedef void(LLMRT_CALL* llmrt_dealloc_fn)(void* user, void* p, size_t size, size_t align);
/* On worker index (from 1; 0 is the calling thread and not told), to name or pin it. starting: 1 first of all, 0 last of all. */
typedef void(LLMRT_CALL* llmrt_thread_fn)(void* user, int32_t index, int32_t starting);

typedef struct llmrt_runtime_options {
  uint32_t struct_size;
  /* 0 off, 1 error, 2 warning (default), 3 info: models and engines made, 4 debug: ends of requests too. For programs that show no
   * log LLMRT_LOG=debug in the environment writes it to standard error */
  int32_t log_level;
  llmrt_log_fn log; /* NULL: no callback */
  /* Both or neither: all memory of the library in this process, weights and KV included. The table is process-wide and
   * fixed by its first use, so set it before anything else is called. */
  llmrt_alloc_fn alloc;
  llmrt_dealloc_fn dealloc;
  llmrt_thread_fn thread_hook;
  void* user;        /* passed to the hooks */
  int32_t log_queue; /* > 0: keep the last N lines for llmrt_runtime_next_log; 0 to 2^20 */
  /* 0 to 1024, the caller included; 0: the physical cores that affinity and cpu_mask allow, at most the control group's quota */
  int32_t worker_threads;
  /* The next two: of workers, engines' own and loading threads. Your thread that steps an engine (threading 1) is never touched. */
  int64_t cpu_mask; /* bit i: CPU i; 0: all allowed */
  /* 0 to 19, added to the nice level that the thread begins with */
  int32_t thread_priority;
  int32_t pad0;
  /* a folder that is there, for what the library may keep from one run to the next: packed weights, where llmrt_model_options asks
   * for that. Nothing in it is ever deleted. Who else may write there can end the process with SIGBUS, and so can a disk that fails or
   * goes away. NULL or "": none */
  const char* cache_dir;
} llmrt_runtime_options;

/* Fills in defaults, at most struct_size bytes; pass sizeof. NULL: does nothing; a size that cannot be right (too small, above
 * 4096) leaves struct_size 0, which is an error where the options are used. So do all llmrt_*_init.
 * Any thread; never fails. */
LLMRT_API void LLMRT_CALL llmrt_runtime_options_init(llmrt_runtime_options* options,
                                                     size_t struct_size);
/* A runtime: one thread pool, one log. Most programs need one or none of their own.
 * Any thread. ERR_BUSY: an allocator is given but memory was taken already; ERR_OUT_OF_MEMORY. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_runtime_create(const llmrt_runtime_options* options,
                                                       llmrt_runtime** out);
/* Number of workers, calling thread included.
 * Any thread. */
LLMRT_API int32_t LLMRT_CALL llmrt_runtime_workers(llmrt_runtime* runtime);
/* Changes the number of workers (0: automatic); running work goes on with the new number from its next pass.
 * Any thread; waits for the pass under way. ERR_INVALID_ARGUMENT: outside 0 to 1024. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_runtime_set_workers(llmrt_runtime* runtime,
                                                            int32_t worker_threads);
/* Changes thread_priority, of the running workers, engines' own and loading threads, and of those to come.
 * Any thread; at once. ERR_INVALID_ARGUMENT: outside 0 to 19; ERR_UNSUPPORTED: to lower it takes a right here (RLIMIT_NICE). */
LLMRT_API llmrt_status LLMRT_CALL llmrt_runtime_set_priority(llmrt_runtime* runtime,
                                                             int32_t thread_priority);
/* Oldest kept log line (log_queue > 0); *message is yours, llmrt_free it.
 * Any thread. PENDING: none waits. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_runtime_next_log(llmrt_runtime* runtime, int32_t* level,
                                                         char** message);

typedef struct llmrt_device_info {
  uint32_t struct_size;
  int32_t kind;        /* 0 CPU, 1 GPU, 2 integrated GPU, 3 NPU */
  const char* id;      /* what llmrt_model_options.devices takes: "cpu" */
  const char* name;    /* the processor's own name */
  const char* backend; /* "cpu" */
  const char* driver;  /* CPU: name of the instruction-set table in use: "avx2" */
  /* bytes, -1 unknown; free: what this process can still take; budget: what it may have in all, by its control group */
  int64_t memory_total, memory_free, memory_budget;
} llmrt_device_info;

/* Number of devices this library can run models on.
 * Any thread. */
LLMRT_API int32_t LLMRT_CALL llmrt_device_count(llmrt_runtime* runtime);
/* Device i; memory figures are read anew. Strings live as long as the runtime.
 * Any thread. ERR_NOT_FOUND: no device i. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_device_get(llmrt_runtime* runtime, int32_t i,
                                                   llmrt_device_info* out);

/* ---- where model bytes come from ----------------------------------------------------------------------------------------- */

/* As pread: bytes read, 1 to n; anything else fails. On loading threads and workers, several at once. */
typedef int64_t(LLMRT_CALL* llmrt_read_fn)(void* user, int64_t offset, void* dst, int64_t n);
/* The library will not touch the bytes again. Once, on the thread that lets go last: a load's, one that releases a handle, or one
 * of the library that ends an engine. */
typedef void(LLMRT_CALL* llmrt_done_fn)(void* user);

/* A GGUF file, or the first part of a split one (NAME-00001-of-0000N.gguf: the others are found beside it).
 * Any thread. ERR_NOT_FOUND, ERR_IO (no regular file included) and ERR_FORMAT (an empty one) name the path. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_source_from_path(const char* utf8_path, llmrt_source** out);
/* A file that lies in memory. done NULL: the bytes are copied now; else they must stay until done(user) is called.
 * Any thread. ERR_INVALID_ARGUMENT: no bytes. After a failure done is not called. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_source_from_memory(const void* data, size_t size,
                                                           llmrt_done_fn done, void* user,
                                                           llmrt_source** out);
/* A file behind read(user, offset, dst, n); size in bytes. done may be NULL.
 * Any thread. ERR_INVALID_ARGUMENT. After a failure done is not called. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_source_from_callbacks(int64_t size, llmrt_read_fn read,
                                                              llmrt_done_fn done, void* user,
                                                              llmrt_source** out);
/* Part of an open file: offset and length in bytes, length -1: to its end. The descriptor is duplicated: keep or close yours.
 * Any thread. ERR_IO: not a regular file, or not open for reading. ERR_FORMAT: no bytes. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_source_from_fd(int32_t fd, int64_t offset, int64_t length,
                                                       llmrt_source** out);
/* Appends the next part of a split file; the first source must not be a path (a path finds its parts itself).
 * Any thread. ERR_INVALID_ARGUMENT: a path, or the shard has shards of its own. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_source_add_shard(llmrt_source* source, llmrt_source* shard);

/* ---- model ---------------------------------------------------------------------------------------------------------------- */

typedef struct llmrt_model_options {
  uint32_t struct_size;
  int32_t metadata_only; /* 1: no weights; info, metadata, tokenizer and templates work */
  /* "auto" (default; "" is the same) or a device id: "cpu", or "reference", the slow interpreter that kernels are compared with */
  const char* devices;
  /* bytes the weights may take, packed (load_mode 3: what is not left in the file); 0: no limit but the machine's */
  int64_t host_memory_limit;
  /* NULL: the file's; else template text or chatml, llama3, mistral, gemma, phi3 */
  const char* chat_template;
  /* JSON object {"key": value} laid over the file's metadata; a key that the file does not have is added, a misspelt one too; NULL:
   * none */
  const char* metadata_overrides;
  /* cpu: "isa=NAME", NAME scalar, avx2, avx_vnni, avx512_vnni, amx_int8, neon, neon_i8mm or sve; NULL: the
   * best there is */
  const char* backend_options;
  /* 0: none; else ERR_TIMEOUT after so long, even if a read of the source never returns. A model that is loaded by then is not
   * given up while the file of its packed_cache is written: that is left out, with a warning in the log; ERR_TIMEOUT only if the disk
   * takes another 10 seconds for leaving it */
  int32_t timeout_ms;
  int32_t pad0;
  /* how weights come from files, given as path or descriptor; memory and callbacks are read as they are. 0 (default) and 2: by reads;
   * a file that has become shorter, or fails, is ERR_IO. 1: through a read-only mapping that goes when the weights are loaded; a
   * file that is cut short meanwhile, or fails, ends the process with SIGBUS. 3: matrices stay in the mapping, or in the memory they
   * were given in, as long as the model, take none of their own and are packed at each use: the same bits, several times as slow. A
   * file that is written to meanwhile changes the answers, one that is cut short or fails ends the process with SIGBUS; not from
   * callbacks. Where packed weights would not fit into the device's memory_free, 0 is 3, and the log says so at level 3 */
  int32_t load_mode, pad1;
  /* 1: packed weights are kept in the runtime's cache_dir, in a file of their size, and the next load of the model maps that instead
   * of packing; processes share its pages, which are the file system's, mostly of 4 KiB: decoding may be slower. They are then mapped
   * whether load_mode is 0, 1 or 2. The file is found by the model's hash (llmrt_model_info.hash: delete it after exchanging a damaged
   * model for a whole one) and checked at each load; one that is damaged is written anew, a folder that takes none costs a warning in
   * the log. 0 with load_mode 3. 0 (default): no file is written or looked for */
  int32_t packed_cache, pad2;
} llmrt_model_options;

/* Fills in defaults, at most struct_size bytes; pass sizeof.
 * Any thread; never fails. */
LLMRT_API void LLMRT_CALL llmrt_model_options_init(llmrt_model_options* options,
                                                   size_t struct_size);
/* Loads a GGUF file; blocks until the weights are ready. The model is immutable: any number of engines may share it.
 * Any thread. ERR_NOT_FOUND, ERR_IO, ERR_FORMAT, ERR_UNSUPPORTED name file, key or tensor; ERR_MEMORY_BUDGET both numbers. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_model_load(llmrt_runtime* runtime, const char* utf8_path,
                                                   const llmrt_model_options* options,
                                                   llmrt_model** out);
/* The same from a source, which may be released afterwards.
 * Any thread. Errors as llmrt_model_load. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_model_load_source(llmrt_runtime* runtime,
                                                          llmrt_source* source,
                                                          const llmrt_model_options* options,
                                                          llmrt_model** out);
/* The same on a thread of its own, with progress and cancel: see jobs. Returns at once; options are copied.
 * Any thread. A failure of the load is the job's. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_model_load_async(llmrt_runtime* runtime,
                                                         llmrt_source* source,
                                                         const llmrt_model_options* options,
                                                         llmrt_job** out);

typedef struct llmrt_model_info {
  uint32_t struct_size;
  /* tokens, tokens, floats, blocks; 0 in a vocabulary-only file */
  int32_t n_vocab, n_ctx_train, n_embd, n_layer;
  int32_t pad0;
  int64_t n_params, weight_bytes; /* weight_bytes: of the loaded weights, in memory and mapped */
  uint32_t caps;                  /* 1: can generate (weights are loaded) */
  uint32_t pad1;
  /* "llama", general.name, "Q4_K_M"; hash: hexadecimal, of metadata (overrides included), tensor table, lengths of the files and both
   * ends of each tensor: tells models apart, does not prove that the bytes between are whole. All live as long as the model */
  const char *arch, *name, *quant, *hash;
  const char* isa; /* the device's instruction-set table; "" if metadata_only */
  /* of weight_bytes: in a mapped file (packed_cache, load_mode 3), or, with load_mode 3, in the memory that they were given in. Pages
   * of a file are the system's: processes share them, it may drop and read them again, and host_bytes of llmrt_metrics has them not */
  int64_t mapped_bytes;
} llmrt_model_info;

/* What the model is. Strings live as long as the model.
 * Any thread. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_model_get_info(const llmrt_model* model,
                                                       llmrt_model_info* out);
/* The value of a metadata key as JSON text, overrides applied; yours, llmrt_free it.
 * Any thread. ERR_NOT_FOUND names the key. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_model_metadata(const llmrt_model* model, const char* key,
                                                       char** out_value_json);
/* Number of metadata keys.
 * Any thread. */
LLMRT_API int32_t LLMRT_CALL llmrt_model_metadata_count(const llmrt_model* model);
/* Key i and its value as JSON text, in file order; both yours (either pointer may be NULL: not wanted).
 * Any thread. ERR_NOT_FOUND: no key i. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_model_metadata_at(const llmrt_model* model, int32_t i,
                                                          char** out_key, char** out_value_json);

typedef struct llmrt_tensor_info {
  uint32_t struct_size;
  int32_t n_dims;
  const char *name, *type;    /* "blk.0.attn_q.weight", "Q4_K"; live as long as the model */
  const char* device;         /* id of the device that holds it, "" if it is not loaded */
  int64_t d0, d1, d2, d3;     /* d0: row length; 1 beyond n_dims */
  int64_t bytes, file_offset; /* in the file; offset from the start of its part */
  int32_t shard, pad0;        /* part of a split file, from 0 */
  /* what the device keeps it as: "P16" (as many bits as in the file, 16 rows side by side), "F32", or "file" (load_mode 3: as it is
   * there); "" if it is not loaded */
  const char* packed_as;
} llmrt_tensor_info;

/* Number of tensors in the file.
 * Any thread. */
LLMRT_API int32_t LLMRT_CALL llmrt_model_tensor_count(const llmrt_model* model);
/* Tensor i, in file order. Strings live as long as the model.
 * Any thread. ERR_NOT_FOUND: no tensor i. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_model_tensor_get(const llmrt_model* model, int32_t i,
                                                         llmrt_tensor_info* out);

/* ---- engine: scheduler and KV cache ------------------------------------------------------------------------------------- */

typedef struct llmrt_engine_options {
  uint32_t struct_size;
  int32_t threading; /* 0: a thread of its own; 1: the host calls llmrt_engine_step */
  /* longest sequence, prompt and answer, to 2^22; 0: min(n_ctx_train, 8192), or less where the KV cache holds less. Beyond
   * n_ctx_train is allowed, the log warns: what the model says there may be poor */
  int32_t ctx_tokens;
  int32_t max_running;   /* sequences computed side by side, 1 to 1024, default 16 */
  int32_t max_batch;     /* rows of one pass, to 4096; 0: 512 */
  int32_t prefill_chunk; /* rows of one request in a pass, to 4096; 0: what fits */
  const char* kv_type;   /* "bf16" (default), "f32", "f16", "k=f16,v=bf16" */
  /* most bytes of KV cache, which is taken block by block as tokens come. -1: for 4 sequences (or max_running, if less) of
   * ctx_tokens, but no more than a quarter of the free memory. Blocks that could never be of use are not counted */
  int64_t kv_budget;
  int32_t prefix_cache; /* 1 (default): prompts that begin alike share their KV */
  /* 0: same file, build, ISA and request give the same bits whatever else runs. Other values come later: ERR_UNSUPPORTED */
  int32_t numerics;
  int32_t block_tokens;  /* tokens per KV block: 16, 32 (default) or 64 */
  int32_t batching;      /* 0 continuous; 1 static, 2 dynamic: to be measured against */
  int32_t batch_wait_us; /* dynamic batching: how long to wait for mates, 0 to 10^7 */
  int32_t queue_limit;   /* waiting requests, 1 to 2^20, default 1024; beyond: ERR_QUEUE_FULL */
  /* prompt + max_tokens exceed ctx_tokens: 0 (default) submit refuses with ERR_CONTEXT_FULL, 1 the answer ends there with finish
   * "length"; 2 as 1, and sessions leave their oldest turns out of the prompt to make room for max_tokens, at most a quarter of
   * ctx_tokens. Whatever this is, max_tokens -1 goes to the end of the context (or of the KV cache, if that holds less) and ends
   * there with "length", and a prompt that leaves no room for its answer is ERR_CONTEXT_FULL */
  int32_t overflow;
  int32_t pad0;
  const char* cache_namespace; /* prefixes are shared only inside one namespace; NULL: "" */
} llmrt_engine_options;

/* Fills in defaults, at most struct_size bytes; pass sizeof.
 * Any thread; never fails. */
LLMRT_API void LLMRT_CALL llmrt_engine_options_init(llmrt_engine_options* options,
                                                    size_t struct_size);
/* An engine on a model. Releasing the model before the engine is fine.
 * Any thread. ERR_INVALID_ARGUMENT names option and allowed values; ERR_UNSUPPORTED: metadata_only model; ERR_MEMORY_BUDGET. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_engine_create(llmrt_model* model,
                                                      const llmrt_engine_options* options,
                                                      llmrt_engine** out);
/* threading 1: works for about budget_us microseconds (0: one piece of work; < 0: until no work is left).
 * One thread at a time; a second one gets PENDING at once. PENDING: more work waits. ERR_UNSUPPORTED: engine has its own thread. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_engine_step(llmrt_engine* engine, int32_t budget_us);
/* Stops work (application in background): when it returns, nothing runs. Requests are kept.
 * Any thread; waits for at most one piece of work. Idempotent. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_engine_pause(llmrt_engine* engine);
/* Goes on after llmrt_engine_pause.
 * Any thread. Idempotent. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_engine_resume(llmrt_engine* engine);
/* The system is short of memory: 1 gives back what is free, 2 the prefix cache too, 3 all KV that no running request needs: as 2,
 * and of a paused engine the KV of all its requests, which is computed again after llmrt_engine_resume.
 * Any thread; done between two pieces of work, maybe after the return. ERR_INVALID_ARGUMENT: level outside 1 to 3. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_engine_trim(llmrt_engine* engine, int32_t level);
/* Refuses new requests and waits up to timeout_ms milliseconds for the running ones, then cancels the rest (0: at once; < 0 is
 * refused). Any thread. ERR_TIMEOUT: some were cancelled after waiting. Later submits (of sessions too), llmrt_session_create,
 * step, pause, resume, trim and llmrt_evaluate answer ERR_CLOSED; llmrt_engine_next does once it is drained. Metrics, requests
 * and what else of sessions go on. Again: OK. Optional: release does it too. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_engine_close(llmrt_engine* engine, int32_t timeout_ms);

typedef struct llmrt_metrics {
  uint32_t struct_size;
  /* now; samples count one by one. waiting: for a place among the running, preempted ones too */
  int32_t running, waiting, sessions;
  int64_t done, failed, cancelled; /* requests; counters only grow */
  int64_t prompt_tokens, cached_tokens, generated_tokens, steps, busy_us, preemptions;
  int64_t heartbeat; /* grows while the engine works; a hung device leaves it still */
  /* bytes; kv_used: what requests hold, without prefixes kept for later ones. kv_used / kv_total and busy_share tell how well the engine
   * is used */
  int64_t kv_used, kv_total;
  /* weight_bytes: in memory and mapped; host_bytes: all memory of the library in this process, mapped files not */
  int64_t weight_bytes, host_bytes;
  /* submit to first text; percentiles over the last 60 s */
  double ttft_ms_p50, ttft_ms_p95, ttft_ms_p99;
  double itl_ms_p50, itl_ms_p95, itl_ms_p99;       /* between two tokens of a request */
  double queue_ms_p50, queue_ms_p95, queue_ms_p99; /* submit to first work */
  double e2e_ms_p50, e2e_ms_p95, e2e_ms_p99;       /* submit to done */
  double requests_per_s, prefill_tps, decode_tps;  /* per second, over the same window */
  /* over the same window: mean rows of a pass, share of the time in which the engine computed; now: share of the running samples' KV
   * that holds no token */
  double batch_mean, busy_share, kv_waste;
  int32_t batch_peak, pad0; /* most rows of one pass, over the same window */
  /* buffers of a pass: activations, scratch of the workers there were when the engine was made, logits; llmrt_plan_info.compute */
  int64_t compute_bytes;
} llmrt_metrics;

/* A snapshot of the engine's figures.
 * Any thread; does not wait for work. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_engine_metrics(const llmrt_engine* engine,
                                                       llmrt_metrics* out);
/* Logits of positions first .. n - 1 of a token sequence: row-major [n - first, n_vocab] float32 into logits (cap floats).
 * Any thread; blocks. *n_floats is set even if cap is too small (ERR_BUFFER_TOO_SMALL: nothing is computed). ERR_CONTEXT_FULL. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_evaluate(llmrt_engine* engine, const int32_t* tokens,
                                                 size_t n, size_t first, float* logits, size_t cap,
                                                 size_t* n_floats);

/* ---- plan: memory before loading. Reads metadata only -------------------------------------------------------------------- */

typedef struct llmrt_plan_info {
  uint32_t struct_size;
  int32_t fits; /* 1: weights, KV, compute fit into what is available; kv_budget holds a request */
  int32_t n_devices;
  int32_t ctx_tokens; /* of a sequence, as the engine would have it */
  /* tokens of one sequence, at most n_ctx_train or ctx_tokens; 0: weights alone do not fit */
  int32_t max_ctx_that_fits;
  int32_t pad0;
  /* bytes. weights: packed, whether a packed_cache has them or not; load_mode 3: what is not left in the file. kv: the most the cache
   * will take, as kv_budget says; one sequence takes at most kv_per_token times its tokens, in whole blocks */
  int64_t weights, kv, kv_per_token, compute;
  int64_t host_total, device_total; /* bytes needed in host memory and on devices with their own */
} llmrt_plan_info;

typedef struct llmrt_plan_device {
  uint32_t struct_size;
  int32_t device;                          /* index for llmrt_device_get */
  int64_t weights, kv, compute, available; /* bytes */
} llmrt_plan_device;

/* What loading this file and making this engine would take, by the loader's own sums. Options may be NULL.
 * Any thread. Errors as llmrt_model_load, but not fitting is no error: see llmrt_plan_info.fits. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_plan_create(llmrt_runtime* runtime, llmrt_source* source,
                                                    const llmrt_model_options* model_options,
                                                    const llmrt_engine_options* engine_options,
                                                    llmrt_plan** out);
/* The sums.
 * Any thread. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_plan_get_info(const llmrt_plan* plan, llmrt_plan_info* out);
/* The share of device i of llmrt_plan_info.n_devices.
 * Any thread. ERR_NOT_FOUND: no device i. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_plan_get_device(const llmrt_plan* plan, int32_t i,
                                                        llmrt_plan_device* out);

/* ---- requests and events -------------------------------------------------------------------------------------------------- */

enum llmrt_event_type {
  LLMRT_EVENT_NONE = 0,
  LLMRT_EVENT_TEXT = 1, /* a piece of the answer, whole code points */
  /* done of total prompt tokens: after each pass over a long prompt but the last, which text follows. None if one pass is enough */
  LLMRT_EVENT_PROGRESS = 4,
  LLMRT_EVENT_SAMPLE_DONE = 5, /* one of n samples has its finish */
  LLMRT_EVENT_DONE = 6         /* always last, exactly once */
};
enum llmrt_finish {
  LLMRT_FINISH_NONE = 0, /* still running */
  LLMRT_FINISH_STOP = 1, /* end of turn, or a stop string */
  LLMRT_FINISH_LENGTH = 2,
  LLMRT_FINISH_CANCELLED = 4,
  LLMRT_FINISH_TIMEOUT = 5,
  LLMRT_FINISH_ERROR = 7
};

typedef struct llmrt_event {
  uint32_t struct_size;
  int32_t type, sample, finish;
  llmrt_status error; /* DONE: why it failed, else 0 */
  int32_t token;      /* -1 if the text comes from several or none */
  int32_t n_tokens;
  float logprob; /* of token; 0 unless gen option logprobs asks for it */
  int64_t done, total, tag;
  /* UTF-8, not NUL-terminated by promise: text_len bytes; valid until the next `next` on this queue, in on_event during the call */
  const char* text;
  size_t text_len;
  llmrt_request* request; /* the handle submit returned; NULL if it was released */
} llmrt_event;

/* nonzero: cancel as llmrt_request_cancel(request, 0); to keep a session's partial answer, call that with 1. event is valid during
 * the call. On a delivery thread of the engine, one request's events in order; threading 1: inside the call that drives or ends
 * the engine. */
typedef int32_t(LLMRT_CALL* llmrt_event_fn)(void* user, const llmrt_event* event);
/* The n = n_vocab logits of a sample's next token, to be edited before it is drawn. On the engine's thread; threading 1: inside the
 * call that drives the engine. */
typedef void(LLMRT_CALL* llmrt_logits_fn)(void* user, int32_t sample, float* logits, int32_t n);

typedef struct llmrt_gen_options {
  uint32_t struct_size;
  int32_t max_tokens; /* -1 (default): to the context's end; 0: only compute the prompt */
  int32_t n;          /* samples that share the prompt, 1 to 1024 */
  int32_t priority;   /* higher first; beyond 60 and -60 counts as these */
  int64_t seed;       /* 0 and up; -1 (default): random (llmrt_usage.seed tells which) */
  int32_t timeout_ms, stall_timeout_ms; /* whole request; between two tokens; 0 (default): none */
  /* 0: the best token always, to 100; -1 (default): the file's, else 0.8 */
  float temperature;
  /* 0.95, 0.05, 1. top_p, typical_p: 0 and up, 1 is off; min_p: 1 and down, 0 is off */
  float top_p, min_p, typical_p;
  int32_t top_k;          /* 40; <= 0: off */
  int32_t penalty_last_n; /* 64 tokens; 0: off, -1: the whole context */
  /* 1 (0.01 to 100), 0, 0 (-100 to 100) */
  float repeat_penalty, frequency_penalty, presence_penalty;
  float xtc_probability, xtc_threshold; /* 0 (off), 0.1; 0 to 1 */
  float dry_multiplier, dry_base;       /* 0 (off, to 100), 1.75 (1 to 100) */
  int32_t dry_allowed_length;           /* 2; 0 and up */
  /* steps in their order, "": none; NULL: "logit_bias;penalties;dry;top_k;typical;top_p;min_p;xtc;temperature" */
  const char* sampler_chain;
  const char* logit_bias; /* JSON {"token id": bias}, -1e6 to 1e6; NULL: none */
  /* the answer ends before the first of these, at most 64 of 1 to 1024 bytes; NULL: none */
  const llmrt_strlist* stop;
  int32_t logprobs; /* alternatives reported per token, 0 to 20 */
  int32_t ignore_eos;
  int32_t delivery; /* events go to: 0 llmrt_request_next, 1 llmrt_engine_next, 2 on_event */
  /* llmrt_submit_text: 0 specials added as the file says, 1 none added, 2 special text is parsed (bits) */
  int32_t text_flags;
  llmrt_event_fn on_event;
  llmrt_logits_fn on_logits;
  /* for both callbacks; must live until the request's end was told: by DONE or, without on_event, by llmrt_request_wait */
  void* user;
  int64_t tag; /* comes back in events */
  /* llmrt_submit_chat and ask: JSON array, JSON object; NULL: none */
  const char *tools_json, *template_kwargs;
  /* logprobs are 0 (default): of the model's logits, before on_logits; 1: of what the token was drawn from, over the candidates that
   * are left after on_logits and the sampler_chain; temperature 0: over all tokens, after on_logits, bias and penalties */
  int32_t logprobs_processed, pad0;
} llmrt_gen_options;

/* Fills in defaults, at most struct_size bytes; pass sizeof.
 * Any thread; never fails. */
LLMRT_API void LLMRT_CALL llmrt_gen_options_init(llmrt_gen_options* options, size_t struct_size);
/* Continues a text (no chat template). Returns at once; options are copied. len in bytes.
 * Any thread. Options, tokens and length are checked before a request exists. ERR_CONTEXT_FULL, ERR_QUEUE_FULL, ERR_CLOSED. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_submit_text(llmrt_engine* engine, const char* utf8,
                                                    size_t len, const llmrt_gen_options* options,
                                                    llmrt_request** out);
/* Continues a token sequence as it is.
 * Any thread. ERR_INVALID_ARGUMENT: no token, or one outside the vocabulary; else as llmrt_submit_text. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_submit_tokens(llmrt_engine* engine, const int32_t* tokens,
                                                      size_t n, const llmrt_gen_options* options,
                                                      llmrt_request** out);
/* Answers a chat: JSON array of {"role", "content"} through the model's template; text in messages never becomes a special token.
 * Any thread. ERR_TEMPLATE: the model has none (set chat_template) or it failed; ERR_INVALID_ARGUMENT: no message, or JSON of
 * another form; else as llmrt_submit_text. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_submit_chat(llmrt_engine* engine, const char* messages_json,
                                                    const llmrt_gen_options* options,
                                                    llmrt_request** out);
/* Next event of a request (delivery 0); waits timeout_ms milliseconds, 0: not at all, < 0: for ever.
 * Any thread, but one reader to a queue: the next call takes back the text of the last. Drives a host-stepped engine itself while
 * it waits (PENDING at once if another thread does). OK: *out is an event; PENDING; END: after DONE, for ever. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_request_next(llmrt_request* request, int32_t timeout_ms,
                                                     llmrt_event* out);
/* Next event of any request of the engine with delivery 1: one loop serves all.
 * As llmrt_request_next; never END. ERR_CLOSED once the engine is closed and drained. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_engine_next(llmrt_engine* engine, int32_t timeout_ms,
                                                    llmrt_event* out);
/* Waits up to timeout_ms milliseconds (0: not at all, < 0: for ever) for the end of a request; text and usage stay readable
 * whatever the result. Any thread; drives a host-stepped engine as llmrt_request_next does. PENDING: not ended. OK: stop or length;
 * ERR_CANCELLED, ERR_TIMEOUT or the request's error otherwise. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_request_wait(llmrt_request* request, int32_t timeout_ms);
/* Ends a request; its DONE comes at once, or when its on_logits has returned if that runs just now. keep_partial 1: a session
 * keeps the text so far as the answer, 0: it rolls back.
 * Any thread, callbacks too; never waits for work. Idempotent; after the end it does nothing. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_request_cancel(llmrt_request* request,
                                                       int32_t keep_partial);
/* The text of a sample so far, NUL-terminated; yours, llmrt_free it. A NUL in the text looks like its end: the whole text is in
 * llmrt_request_message, as JSON, and in the events' text_len bytes.
 * Any thread. ERR_NOT_FOUND: no such sample. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_request_text(const llmrt_request* request, int32_t sample,
                                                     char** out);
/* The generated token ids of a sample so far. *n is set even if cap is too small (ERR_BUFFER_TOO_SMALL).
 * Any thread. ERR_NOT_FOUND: no such sample. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_request_tokens(const llmrt_request* request, int32_t sample,
                                                       int32_t* out, int32_t cap, int32_t* n);
/* The answer as a JSON message {"role", "content", "finish", "logprobs"} (the last if they were asked for); yours.
 * Any thread. ERR_NOT_FOUND: no such sample. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_request_message(const llmrt_request* request,
                                                        int32_t sample, char** out_json);
/* How a sample ended (enum llmrt_finish), LLMRT_FINISH_NONE while it runs.
 * Any thread. ERR_NOT_FOUND: no such sample. */
LLMRT_API int32_t LLMRT_CALL llmrt_request_finish(const llmrt_request* request, int32_t sample);
/* Why the request failed; status LLMRT_OK while it runs or after a good end. Strings live as long as the request.
 * Any thread. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_request_error(const llmrt_request* request,
                                                      llmrt_error_info* out);

typedef struct llmrt_usage {
  uint32_t struct_size;
  /* cached: prompt tokens whose KV was shared */
  int32_t prompt_tokens, cached_tokens, generated_tokens;
  int64_t seed; /* the one used */
  double queue_ms, prefill_ms, decode_ms, ttft_ms;
  const char* isa; /* instruction-set table that computed it; lives as long as the request */
} llmrt_usage;

/* Token counts and times so far.
 * Any thread. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_request_usage(const llmrt_request* request,
                                                      llmrt_usage* out);

/* ---- sessions: chat history; what two turns share is computed once ------------------------------------------------------- */

typedef struct llmrt_session_options {
  uint32_t struct_size;
  int32_t pad0;
  const char* system;     /* first message of the history, counted like any other; NULL: none */
  const char* tools_json; /* JSON array of objects, NULL: none */
  const char* template_kwargs; /* JSON object, NULL: none */
} llmrt_session_options;

/* Fills in defaults, at most struct_size bytes; pass sizeof.
 * Any thread; never fails. */
LLMRT_API void LLMRT_CALL llmrt_session_options_init(llmrt_session_options* options,
                                                     size_t struct_size);
/* An empty chat on an engine; needs a chat template.
 * Any thread. ERR_TEMPLATE names the option chat_template; ERR_INVALID_ARGUMENT the one that is no such JSON; ERR_CLOSED: the engine
 * is. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_session_create(llmrt_engine* engine,
                                                       const llmrt_session_options* options,
                                                       llmrt_session** out);
/* Appends a message.
 * Any thread. ERR_BUSY: an answer is under way. ERR_INVALID_ARGUMENT: not UTF-8. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_session_add(llmrt_session* session, const char* role,
                                                    const char* content);
/* Appends a message given as a JSON object with at least "role".
 * As llmrt_session_add. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_session_add_json(llmrt_session* session,
                                                         const char* message_json);
/* Asks for an answer to the history so far; the answer joins the history when the request ends well (sample 0).
 * Any thread; one request at a time (ERR_BUSY). A failed or rolled back answer leaves the history as it was: submitting again tries
 * again. Submitting right after an answer adds a second one behind it; for another in its place rewind by one message first.
 * ERR_INVALID_ARGUMENT: no message yet; else as llmrt_submit_chat. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_session_submit(llmrt_session* session,
                                                       const llmrt_gen_options* options,
                                                       llmrt_request** out);
/* Computes the history's KV ahead of the next submit. The request yields no text.
 * As llmrt_session_submit. Worth it only with the engine option prefix_cache. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_session_prefill(llmrt_session* session,
                                                        llmrt_request** out);
/* A second session with the same history; KV is shared.
 * Any thread. ERR_BUSY: an answer is under way. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_session_fork(const llmrt_session* session,
                                                     llmrt_session** out);
/* Drops all but the first keep_messages messages, as llmrt_session_history counts them: 0 drops the system message too.
 * Any thread. ERR_BUSY; ERR_INVALID_ARGUMENT: negative or more than there are. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_session_rewind(llmrt_session* session,
                                                       int32_t keep_messages);
/* Tokens of the history as the next prompt would have them, generation prompt included.
 * Any thread. */
LLMRT_API int32_t LLMRT_CALL llmrt_session_token_count(const llmrt_session* session);
/* The history as a JSON array of messages, the system message first; yours, llmrt_free it.
 * Any thread. An answer under way is not in it. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_session_history(const llmrt_session* session,
                                                        char** out_json);

/* ---- blocking convenience ------------------------------------------------------------------------------------------------- */

/* One question, one answer, through the chat template and an engine that the model makes on first use; *out_text is yours (n > 1:
 * sample 0). An answer that comes to no end of its own goes on to the end of the context, for max_tokens is -1 by default, and there
 * is no handle to cancel it with: only max_tokens and timeout_ms stop it sooner. After ERR_TIMEOUT its text is lost, and whether
 * max_tokens cut it off is not told: a request of llmrt_submit_chat keeps the text and has llmrt_request_finish.
 * Any thread; blocks. Errors as llmrt_submit_chat and llmrt_request_wait; delivery must be 0. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_model_ask(llmrt_model* model, const char* user_text,
                                                  const llmrt_gen_options* options,
                                                  char** out_text);
/* Adds a user message, waits for the answer, keeps both; *out_text is yours (n > 1: sample 0). After a failure, a cancel by
 * llmrt_engine_close included, the history is as before: partial answers are not kept. What is said at llmrt_model_ask of long
 * answers, their text and their finish holds here too; llmrt_session_submit is the way with a request.
 * Any thread; blocks. Errors as llmrt_session_submit and llmrt_request_wait; delivery must be 0. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_session_ask(llmrt_session* session, const char* user_text,
                                                    const llmrt_gen_options* options,
                                                    char** out_text);

/* ---- tokenizer and templates ---------------------------------------------------------------------------------------------- */

/* Text to ids. flags: 1 add BOS/EOS as the file says, 2 special text becomes special tokens. len in bytes.
 * Any thread. *n is set even if cap is too small (ERR_BUFFER_TOO_SMALL). ERR_INVALID_ARGUMENT: not UTF-8, with the offset. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_tokenize(const llmrt_model* model, const char* utf8,
                                                 size_t len, uint32_t flags, int32_t* out,
                                                 int32_t cap, int32_t* n);
/* Ids to text. flags: 1 keep special tokens' text. *out_utf8 is yours; bytes that are no UTF-8 become U+FFFD.
 * Any thread. ERR_INVALID_ARGUMENT: an id outside the vocabulary. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_detokenize(const llmrt_model* model, const int32_t* tokens,
                                                   size_t n, uint32_t flags, char** out_utf8);
/* Raw bytes of one token, maybe half a code point. *n is set even if cap is too small (ERR_BUFFER_TOO_SMALL).
 * Any thread. ERR_INVALID_ARGUMENT: an id outside the vocabulary. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_token_bytes(const llmrt_model* model, int32_t token,
                                                    uint8_t* out, int32_t cap, int32_t* n);
/* Id of a special token: which 0 BOS, 1 EOS, 2 end of turn, 3 padding, 4 to 6 infill prefix, suffix, middle; -1: the file has none.
 * Any thread. Failures are -2 and below. */
LLMRT_API int32_t LLMRT_CALL llmrt_token_special(const llmrt_model* model, int32_t which);
/* Bits of a token: 1 control, 2 byte, 4 ends a generation, 8 user-defined, 16 unused; 0 also for a bad handle or id.
 * Any thread. */
LLMRT_API uint32_t LLMRT_CALL llmrt_token_attr(const llmrt_model* model, int32_t token);
/* The prompt text the model's template makes of a chat. tools_json, kwargs_json may be NULL. add_generation_prompt: 0, or else the
 * prompt ends with the opening of the assistant's turn. *out_prompt is yours.
 * Any thread. ERR_TEMPLATE with line and column, where "chat template", in the template's own words if it raised it;
 * ERR_INVALID_ARGUMENT: JSON of another form, or a NUL in the prompt, which *out_prompt could not show (submitting takes it). */
LLMRT_API llmrt_status LLMRT_CALL llmrt_chat_render(const llmrt_model* model,
                                                    const char* messages_json,
                                                    const char* tools_json, const char* kwargs_json,
                                                    int32_t add_generation_prompt,
                                                    char** out_prompt);
/* The same with a template's text instead of a model: bos_token and the like come from kwargs_json.
 * Any thread. Errors as llmrt_chat_render. */
LLMRT_API llmrt_status LLMRT_CALL
llmrt_template_render(const char* template_text, const char* messages_json, const char* tools_json,
                      const char* kwargs_json, int32_t add_generation_prompt, char** out_prompt);
/* Tokens of a chat's prompt, before sending it.
 * Any thread. Errors as llmrt_chat_render. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_chat_count(const llmrt_model* model,
                                                   const char* messages_json,
                                                   const char* tools_json, const char* kwargs_json,
                                                   int32_t add_generation_prompt, int32_t* n);

/* ---- jobs: long work on a thread of its own, polled, cancellable ---------------------------------------------------------- */

typedef struct llmrt_job_info {
  uint32_t struct_size;
  llmrt_status status; /* PENDING while it runs, OK, or the failure */
  double progress;     /* 0 to 1 */
  int64_t done, total; /* bytes */
  const char* stage;   /* static */
} llmrt_job_info;

/* Waits up to timeout_ms milliseconds (0: not at all, < 0: for ever) for the end of a job and reports how far it is.
 * Any thread. The result is info's status; out may be NULL. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_job_poll(llmrt_job* job, int32_t timeout_ms,
                                                 llmrt_job_info* out);
/* Ends a job with ERR_CANCELLED, even if a read of the source never returns; after the end it does nothing.
 * Any thread; does not wait. Idempotent. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_job_cancel(llmrt_job* job);
/* Why the job failed; status PENDING while it runs, OK after a good end. Strings live as long as the job.
 * Any thread. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_job_error(const llmrt_job* job, llmrt_error_info* out);
/* The loaded model of a job that ended well; it can be taken once.
 * Any thread. PENDING: still running; the job's failure; ERR_NOT_FOUND: taken already. */
LLMRT_API llmrt_status LLMRT_CALL llmrt_job_take_model(llmrt_job* job, llmrt_model** out);

#ifdef __cplusplus
}
#endif
#endif /* LLMRT_H */
