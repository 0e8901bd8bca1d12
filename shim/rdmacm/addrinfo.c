/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_getaddrinfo, rdma_freeaddrinfo: getaddrinfo(3) in the terms of rdma_cm. */
#include <abi/rdmacm.h>
#include <verbs/errno.h>

#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct rdma_addrinfo no_hints;

static int socktype_of(int qp_type)
{
	switch (qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return SOCK_STREAM;
	case IBV_QPT_UD:
		return SOCK_DGRAM;
	}
	return 0;
}

static int protocol_of(int port_space, int socktype)
{
	switch (port_space) {
	case RDMA_PS_TCP:
		return IPPROTO_TCP;
	case RDMA_PS_IPOIB:
	case RDMA_PS_UDP:
		return IPPROTO_UDP;
	case RDMA_PS_IB:
		return socktype == SOCK_STREAM ? IPPROTO_TCP :
		       socktype == SOCK_DGRAM  ? IPPROTO_UDP :
						 0;
	}
	return 0;
}

static void hints_to_ai(const struct rdma_addrinfo *hints, struct addrinfo *ai)
{
	memset(ai, 0, sizeof(*ai));
	ai->ai_flags = (hints->ai_flags & RAI_PASSIVE ? AI_PASSIVE : 0) |
		       (hints->ai_flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0);
	if (hints->ai_family != AF_IB)
		ai->ai_family = hints->ai_family;
	ai->ai_socktype = socktype_of(hints->ai_qp_type);
	ai->ai_protocol = protocol_of(hints->ai_port_space, ai->ai_socktype);
}

static int copy_addr(struct sockaddr **to, socklen_t *to_len, const struct sockaddr *addr,
		     socklen_t len)
{
	*to = calloc(1, len);
	if (!*to)
		return -ENOMEM;
	memcpy(*to, addr, len);
	*to_len = len;
	return 0;
}

static int copy_name(char **to, const char *name)
{
	*to = name ? strdup(name) : NULL;
	return name && !*to ? -ENOMEM : 0;
}

static int take_result(struct rdma_addrinfo *rai, const struct rdma_addrinfo *hints,
		       const struct addrinfo *ai)
{
	bool datagrams = ai->ai_socktype == SOCK_DGRAM;
	int err;

	rai->ai_family = ai->ai_family;
	rai->ai_qp_type = datagrams ? IBV_QPT_UD : IBV_QPT_RC;
	if (hints->ai_qp_type)
		rai->ai_qp_type = hints->ai_qp_type;
	rai->ai_port_space = ai->ai_protocol == IPPROTO_UDP ? RDMA_PS_UDP : RDMA_PS_TCP;
	if (hints->ai_port_space)
		rai->ai_port_space = hints->ai_port_space;
	if (hints->ai_flags & RAI_PASSIVE) {
		rai->ai_flags = RAI_PASSIVE;
		err = copy_name(&rai->ai_src_canonname, ai->ai_canonname);
		return err ? err :
			     copy_addr(&rai->ai_src_addr, &rai->ai_src_len, ai->ai_addr,
				       ai->ai_addrlen);
	}
	err = copy_name(&rai->ai_dst_canonname, ai->ai_canonname);
	return err ? err :
		     copy_addr(&rai->ai_dst_addr, &rai->ai_dst_len, ai->ai_addr, ai->ai_addrlen);
}

/* 0; an EAI_ code, which is what rdma_getaddrinfo returns then; -1 and errno. */
static int look_up(const char *node, const char *service, const struct rdma_addrinfo *hints,
		   struct rdma_addrinfo *rai)
{
	struct addrinfo wanted, *ai;
	int ret;

	hints_to_ai(hints, &wanted);
	ret = getaddrinfo(node, service, hints == &no_hints ? NULL : &wanted, &ai);
	if (ret)
		return ret;
	ret = take_result(rai, hints, ai);
	freeaddrinfo(ai);
	return vs_minus_one(ret);
}

static int take_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo *rai)
{
	rai->ai_flags = hints->ai_flags;
	rai->ai_family = hints->ai_family;
	rai->ai_qp_type = hints->ai_qp_type;
	rai->ai_port_space = hints->ai_port_space;
	if (!hints->ai_dst_len)
		return 0;
	return vs_minus_one(copy_addr(&rai->ai_dst_addr, &rai->ai_dst_len, hints->ai_dst_addr,
				      hints->ai_dst_len));
}

int cs_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		   struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *rai;
	int ret;

	if (!node && !service && !hints)
		return vs_minus_one(-EINVAL);
	rai = calloc(1, sizeof(*rai));
	if (!rai)
		return vs_minus_one(-ENOMEM);
	if (!hints)
		hints = &no_hints;
	ret = node || service ? look_up(node, service, hints, rai) : take_hints(hints, rai);
	if (!ret && !rai->ai_src_len && hints->ai_src_len)
		ret = vs_minus_one(copy_addr(&rai->ai_src_addr, &rai->ai_src_len,
					     hints->ai_src_addr, hints->ai_src_len));
	if (ret) {
		cs_freeaddrinfo(rai);
		return ret;
	}
	*res = rai;
	return 0;
}

void cs_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res) {
		struct rdma_addrinfo *next = res->ai_next;

		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_route);
		free(res->ai_connect);
		free(res);
		res = next;
	}
}
