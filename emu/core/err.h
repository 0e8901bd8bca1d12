/* SPDX-License-Identifier: BSD-2-Clause */
/* The Linux errno values that the core returns, negated: errno itself is not its business. */
#ifndef EMU_ERR_H
#define EMU_ERR_H

#define EMU_EIO 5
#define EMU_EAGAIN 11
#define EMU_ENOMEM 12
#define EMU_EFAULT 14
#define EMU_EBUSY 16
#define EMU_EEXIST 17
#define EMU_ENODEV 19
#define EMU_EINVAL 22
#define EMU_ENOSPC 28
#define EMU_EOPNOTSUPP 95
#define EMU_EADDRINUSE 98
#define EMU_EISCONN 106

#endif
