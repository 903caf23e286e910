// A stand-in for the NCCL functions that costar uses, in tests on machines without a GPU. Devices are the host's memory, and
// ranks are threads of one process. A sum waits for all ranks, or for an abort; messages wait for their receiver.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, UINT8 = 1, FLOAT32 = 7, SUM = 0, RANKS = 16, DEVICES = 64, GROUPS = 64 };

typedef struct {
  char bytes[128];
} ncclUniqueId;

// Bytes on their way.
struct message {
  const void *bytes;
  size_t count;
};

struct group {
  int size, joined, arrived, left, aborted[RANKS];
  size_t count;
  float *sum;
  struct message messages[RANKS][RANKS]; // by sender and receiver
};

struct communicator {
  struct group *group;
  int rank;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct group groups[GROUPS];
static int next;

int cudaSetDevice(int device) {
  return device >= 0 && device < DEVICES ? SUCCESS : 101;
}

int ncclGetVersion(int *version) {
  *version = 22809;
  return SUCCESS;
}

const char *ncclGetErrorString(int code) {
  return code == SYSTEM_ERROR ? "unhandled system error" : "invalid argument";
}

int ncclGetUniqueId(ncclUniqueId *id) {
  memset(id, 0, sizeof *id);
  pthread_mutex_lock(&lock);
  int number = next++;
  pthread_mutex_unlock(&lock);
  if (number >= GROUPS) {
    return SYSTEM_ERROR;
  }
  memcpy(id->bytes, &number, sizeof number);
  return SUCCESS;
}

int ncclCommInitRank(void **handle, int size, ncclUniqueId id, int rank) {
  int number;
  memcpy(&number, id.bytes, sizeof number);
  if (number < 0 || number >= GROUPS || size > RANKS || rank < 0 || rank >= size) {
    return INVALID_ARGUMENT;
  }
  struct group *group = &groups[number];
  pthread_mutex_lock(&lock);
  group->size = size;
  group->joined++;
  pthread_cond_broadcast(&changed);
  while (group->joined < size) {
    pthread_cond_wait(&changed, &lock);
  }
  pthread_mutex_unlock(&lock);
  struct communicator *communicator = malloc(sizeof *communicator);
  communicator->group = group;
  communicator->rank = rank;
  *handle = communicator;
  return SUCCESS;
}

int ncclCommGetAsyncError(void *handle, int *error) {
  (void)handle;
  *error = SUCCESS;
  return SUCCESS;
}

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int operation, void *handle, void *stream) {
  struct group *group = ((struct communicator *)handle)->group;
  const int *aborted = &group->aborted[((struct communicator *)handle)->rank];
  if (type != FLOAT32 || operation != SUM || stream != NULL) {
    return INVALID_ARGUMENT;
  }
  pthread_mutex_lock(&lock);
  // Wait until all ranks have read the previous sum.
  while (group->left > 0 && !*aborted) {
    pthread_cond_wait(&changed, &lock);
  }
  if (group->arrived == 0) {
    group->sum = calloc(count, sizeof *group->sum);
    group->count = count;
  }
  int fits = group->count == count;
  for (size_t i = 0; fits && i < count; i++) {
    group->sum[i] += ((const float *)send)[i];
  }
  if (++group->arrived == group->size) {
    group->left = group->size;
    pthread_cond_broadcast(&changed);
  }
  while (group->left == 0 && !*aborted) {
    pthread_cond_wait(&changed, &lock);
  }
  if (*aborted || !fits) {
    pthread_mutex_unlock(&lock);
    return fits ? SYSTEM_ERROR : INVALID_ARGUMENT;
  }
  memcpy(receive, group->sum, count * sizeof *group->sum);
  if (--group->left == 0) {
    group->arrived = 0;
    free(group->sum);
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

// What this thread receives when its group of calls ends.
static _Thread_local struct {
  struct communicator *communicator;
  int sends, receives, sent_to[RANKS], from[RANKS];
  void *to[RANKS];
  size_t count[RANKS];
} calls;

int ncclGroupStart(void) {
  memset(&calls, 0, sizeof calls);
  return SUCCESS;
}

int ncclSend(const void *bytes, size_t count, int type, int peer, void *handle, void *stream) {
  struct communicator *communicator = handle;
  if (type != UINT8 || stream != NULL || peer < 0 || peer >= communicator->group->size) {
    return INVALID_ARGUMENT;
  }
  pthread_mutex_lock(&lock);
  communicator->group->messages[communicator->rank][peer] = (struct message){bytes, count};
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  calls.communicator = communicator;
  calls.sent_to[calls.sends++] = peer;
  return SUCCESS;
}

int ncclRecv(void *bytes, size_t count, int type, int peer, void *handle, void *stream) {
  struct communicator *communicator = handle;
  if (type != UINT8 || stream != NULL || peer < 0 || peer >= communicator->group->size) {
    return INVALID_ARGUMENT;
  }
  calls.communicator = communicator;
  calls.from[calls.receives] = peer;
  calls.to[calls.receives] = bytes;
  calls.count[calls.receives++] = count;
  return SUCCESS;
}

int ncclGroupEnd(void) {
  if (calls.communicator == NULL) {
    return SUCCESS;
  }
  struct group *group = calls.communicator->group;
  int rank = calls.communicator->rank, code = SUCCESS;
  const int *aborted = &group->aborted[rank];
  pthread_mutex_lock(&lock);
  for (int i = 0; i < calls.receives; i++) {
    struct message *message = &group->messages[calls.from[i]][rank];
    while (message->bytes == NULL && !*aborted) {
      pthread_cond_wait(&changed, &lock);
    }
    if (*aborted || message->count != calls.count[i]) {
      code = *aborted ? SYSTEM_ERROR : INVALID_ARGUMENT;
      continue;
    }
    memcpy(calls.to[i], message->bytes, message->count);
    message->bytes = NULL;
    pthread_cond_broadcast(&changed);
  }
  for (int i = 0; i < calls.sends; i++) {
    while (group->messages[rank][calls.sent_to[i]].bytes != NULL && !*aborted) {
      pthread_cond_wait(&changed, &lock);
    }
  }
  pthread_mutex_unlock(&lock);
  return *aborted ? SYSTEM_ERROR : code;
}

int ncclCommAbort(void *handle) {
  struct communicator *communicator = handle;
  pthread_mutex_lock(&lock);
  communicator->group->aborted[communicator->rank] = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  free(communicator);
  return SUCCESS;
}
