/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rsockets: not emulated (docs/LIMITS.md). Every call fails as it does in a
 * kernel that has no such system call.
 */
#include <abi/rdmacm.h>
#include <verbs/errno.h>

int cs_rsocket(int domain, int type, int protocol)
{
	return vs_minus_one(-ENOSYS);
}

int cs_rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	return vs_minus_one(-ENOSYS);
}

int cs_rlisten(int socket, int backlog)
{
	return vs_minus_one(-ENOSYS);
}

int cs_raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return vs_minus_one(-ENOSYS);
}

int cs_rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	return vs_minus_one(-ENOSYS);
}

int cs_rshutdown(int socket, int how)
{
	return vs_minus_one(-ENOSYS);
}

int cs_rclose(int socket)
{
	return vs_minus_one(-ENOSYS);
}

ssize_t cs_rrecv(int socket, void *buf, size_t len, int flags)
{
	return vs_minus_one(-ENOSYS);
}

ssize_t cs_rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr,
		     socklen_t *addrlen)
{
	return vs_minus_one(-ENOSYS);
}

ssize_t cs_rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	return vs_minus_one(-ENOSYS);
}

ssize_t cs_rsend(int socket, const void *buf, size_t len, int flags)
{
	return vs_minus_one(-ENOSYS);
}

ssize_t cs_rsendto(int socket, const void *buf, size_t len, int flags,
		   const struct sockaddr *dest_addr, socklen_t addrlen)
{
	return vs_minus_one(-ENOSYS);
}

ssize_t cs_rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	return vs_minus_one(-ENOSYS);
}

ssize_t cs_rread(int socket, void *buf, size_t count)
{
	return vs_minus_one(-ENOSYS);
}

ssize_t cs_rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	return vs_minus_one(-ENOSYS);
}

ssize_t cs_rwrite(int socket, const void *buf, size_t count)
{
	return vs_minus_one(-ENOSYS);
}

ssize_t cs_rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	return vs_minus_one(-ENOSYS);
}

int cs_rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	return vs_minus_one(-ENOSYS);
}

int cs_rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
	       struct timeval *timeout)
{
	return vs_minus_one(-ENOSYS);
}

int cs_rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return vs_minus_one(-ENOSYS);
}

int cs_rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return vs_minus_one(-ENOSYS);
}

int cs_rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	return vs_minus_one(-ENOSYS);
}

int cs_rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	return vs_minus_one(-ENOSYS);
}

int cs_rfcntl(int socket, int cmd, long arg)
{
	return vs_minus_one(-ENOSYS);
}

off_t cs_riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	return vs_minus_one(-ENOSYS);
}

int cs_riounmap(int socket, void *buf, size_t len)
{
	return vs_minus_one(-ENOSYS);
}

size_t cs_riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	return vs_minus_one(-ENOSYS);
}

