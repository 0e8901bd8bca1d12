/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOST_LOG_H
#define HOST_LOG_H

#include <emu/config.h>

/* From which level down sv_log() speaks; SV_LOG_WARN until told. Any thread. */
void sv_log_set_level(enum sv_log_level level);

#endif
