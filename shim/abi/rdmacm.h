/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the emulator answers of librdmacm: int cs_create_id(...) for
 * rdma_create_id and so on, one prototype for each row of rdmacm.def, same
 * signature. They return what the man page says: 0, or -1 with errno set.
 */
#ifndef ABI_RDMACM_H
#define ABI_RDMACM_H

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

/*
 * rfcntl is variadic in its header, which no thunk can pass on. Its third word,
 * if it has one, always is in the place of a third parameter.
 */
#define rfcntl rfcntl_variadic
#include <rdma/rsocket.h>
#undef rfcntl
int rfcntl(int socket, int cmd, long arg);

#define SYM(version, ret, symbol, name, params, args) ret cs_##name params;
#include <abi/rdmacm.def>

#endif
