/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libfabric has no call for: the sockets below its endpoints. Which
 * descriptor is whose, close-on-exec, and who may connect at all.
 */
#include "ofi_sock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define NEAR_HINT 16

struct in6_addr ofi_sockaddr_ip(const union ofi_sockaddr *addr)
{
	struct in6_addr ip = { .s6_addr = { [10] = 0xff, 0xff } };

	if (addr->sa.sa_family == AF_INET6)
		return addr->in6.sin6_addr;
	memcpy(ip.s6_addr + 12, &addr->in.sin_addr, 4);
	return ip;
}

void ofi_sockaddr_set(union ofi_sockaddr *addr, const struct in6_addr *ip, uint32_t scope,
		      uint16_t port)
{
	memset(addr, 0, sizeof(*addr));
	if (IN6_IS_ADDR_V4MAPPED(ip)) {
		addr->in.sin_family = AF_INET;
		addr->in.sin_port = htons(port);
		memcpy(&addr->in.sin_addr, ip->s6_addr + 12, 4);
	} else {
		addr->in6.sin6_family = AF_INET6;
		addr->in6.sin6_port = htons(port);
		addr->in6.sin6_addr = *ip;
		addr->in6.sin6_scope_id = scope;
	}
}

/* ---- descriptors ---------------------------------------------------------- */

/* sin_port and sin6_port are at the same place. */
static bool same_address(const union ofi_sockaddr *a, const union ofi_sockaddr *b)
{
	struct in6_addr ia = ofi_sockaddr_ip(a), ib = ofi_sockaddr_ip(b);

	return a->in.sin_port == b->in.sin_port && IN6_ARE_ADDR_EQUAL(&ia, &ib);
}

static bool is_it(int fd, const union ofi_sockaddr *local, const union ofi_sockaddr *peer)
{
	union ofi_sockaddr addr;
	socklen_t len = sizeof(addr), type_len = sizeof(int);
	int type;

	memset(&addr, 0, sizeof(addr));
	if (getsockname(fd, &addr.sa, &len) ||
	    (addr.sa.sa_family != AF_INET && addr.sa.sa_family != AF_INET6) ||
	    !same_address(&addr, local))
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) || type != SOCK_STREAM)
		return false;
	len = sizeof(addr);
	return !peer || (!getpeername(fd, &addr.sa, &len) && same_address(&addr, peer));
}

int ofi_sock_next(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

	if (fd >= 0)
		close(fd);
	return fd;
}

int ofi_sock_find(int hint, const union ofi_sockaddr *local, const union ofi_sockaddr *peer)
{
	struct dirent *entry;
	int fd, found = -1;
	DIR *dir;

	for (fd = hint; hint >= 0 && fd < hint + NEAR_HINT; fd++)
		if (is_it(fd, local, peer))
			return fd;
	dir = opendir("/proc/self/fd");
	if (!dir)
		return -1;
	while (found < 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		fd = atoi(entry->d_name);
		if (is_it(fd, local, peer))
			found = fd;
	}
	closedir(dir);
	return found;
}

void ofi_sock_cloexec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags >= 0)
		fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

void ofi_sock_impatient(int fd)
{
	/* Inherited by what it accepts, until libfabric makes that non-blocking. */
	const struct timeval patience = { .tv_usec = 1000 };

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

void ofi_sock_unpace(int fd)
{
	static const char reno[] = "reno"; /* every kernel has it and lets anybody choose it */

	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof(reno) - 1);
}

/* ---- who may connect ---------------------------------------------------------- */

static const struct sv_net this_host[] = {
	{ .addr.s6_addr = { [10] = 0xff, 0xff, 127 }, .prefix = 104 },
	{ .addr.s6_addr = { [15] = 1 }, .prefix = 128 },
};

#define THIS_HOST (sizeof(this_host) / sizeof(this_host[0]))

static bool in_net(const struct in6_addr *ip, const struct sv_net *net)
{
	unsigned bytes = net->prefix / 8, bits = net->prefix % 8;
	uint8_t mask = (uint8_t)(0xff00 >> bits);

	if (memcmp(ip->s6_addr, net->addr.s6_addr, bytes))
		return false;
	return !bits || !((ip->s6_addr[bytes] ^ net->addr.s6_addr[bytes]) & mask);
}

bool ofi_sock_allowed(const struct in6_addr *ip, const struct sv_net *allow, unsigned count)
{
	for (unsigned i = 0; i < THIS_HOST; i++)
		if (in_net(ip, &this_host[i]))
			return true;
	for (unsigned i = 0; i < count; i++)
		if (in_net(ip, &allow[i]))
			return true;
	return false;
}

struct program {
	struct sock_filter code[64 + (SV_ALLOW_MAX + THIS_HOST) * 14];
	unsigned short len;
};

static void emit(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	p->code[p->len++] = (struct sock_filter){ .code = code, .jt = jt, .jf = jf, .k = k };
}

static uint32_t word_of(const struct in6_addr *ip, unsigned i)
{
	uint32_t word;

	memcpy(&word, ip->s6_addr + 4 * i, 4);
	return ntohl(word);
}

/*
 * Accept if the words [first, 4) of the source address, which begin at offset
 * in the IP header, are in the net; else fall through to the next test.
 */
static void emit_net(struct program *p, const struct sv_net *net, unsigned first, uint32_t offset)
{
	unsigned words = 0, start = p->len;

	for (unsigned i = first; i < 4 && net->prefix > 32 * i; i++)
		words++;
	for (unsigned i = first; i < first + words; i++) {
		unsigned bits = net->prefix - 32 * i;
		uint32_t mask = bits >= 32 ? UINT32_MAX : ~(UINT32_MAX >> bits);
		unsigned end = start + 3 * words + 1;

		emit(p, BPF_LD | BPF_W | BPF_ABS,
		     (uint32_t)SKF_NET_OFF + offset + 4 * (i - first), 0, 0);
		emit(p, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, word_of(&net->addr, i) & mask, 0,
		     (uint8_t)(end - p->len - 1));
	}
	emit(p, BPF_RET | BPF_K, UINT32_MAX, 0, 0);
}

static bool is_v4(const struct sv_net *net)
{
	return net->prefix >= 96 && IN6_IS_ADDR_V4MAPPED(&net->addr);
}

static void emit_family(struct program *p, const struct sv_net *nets, unsigned count, bool v4)
{
	for (unsigned i = 0; i < count; i++)
		if (is_v4(&nets[i]) == v4)
			emit_net(p, &nets[i], v4 ? 3 : 0, v4 ? 12 : 8);
}

void ofi_sock_restrict(int fd, const struct sv_net *allow, unsigned count)
{
	struct program p = { .len = 0 };
	struct sock_fprog prog = { .filter = p.code };
	unsigned jump;

	emit(&p, BPF_LD | BPF_B | BPF_ABS, (uint32_t)SKF_NET_OFF, 0, 0);
	emit(&p, BPF_ALU | BPF_AND | BPF_K, 0xf0, 0, 0);
	emit(&p, BPF_JMP | BPF_JEQ | BPF_K, 0x40, 1, 0);
	jump = p.len;
	emit(&p, BPF_JMP | BPF_JA, 0, 0, 0);
	emit_family(&p, this_host, THIS_HOST, true);
	emit_family(&p, allow, count, true);
	emit(&p, BPF_RET | BPF_K, 0, 0, 0);
	p.code[jump].k = p.len - jump - 1;
	emit_family(&p, this_host, THIS_HOST, false);
	emit_family(&p, allow, count, false);
	emit(&p, BPF_RET | BPF_K, 0, 0, 0);
	prog.len = p.len;
	/* Should the kernel refuse, the check of the connection request is still there. */
	(void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

void ofi_sock_unrestrict(int fd)
{
	(void)setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, NULL, 0);
}
