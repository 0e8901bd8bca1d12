/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths without a GRH, addressed by LIDs: on a port whose link layer is InfiniBand. */
#include "fixture.h"

static uint16_t lid_of_port(void)
{
	struct ibv_port_attr attr;

	assert_int_equal(ibv_query_port(ctx, 1, &attr), 0);
	if (attr.link_layer == IBV_LINK_LAYER_ETHERNET)
		skip();
	assert_int_not_equal(attr.lid, 0);
	return attr.lid;
}

/* What a program leaves in a structure that it does not clear. */
static struct ibv_ah_attr path_to(uint16_t lid)
{
	struct ibv_ah_attr path;

	memset(&path, 0xaa, sizeof(path));
	path.dlid = lid;
	path.sl = 0;
	path.src_path_bits = 0;
	path.static_rate = 0;
	path.is_global = 0;
	path.port_num = 1;
	return path;
}

static void connect_by_lid(struct end *e, const struct options *o)
{
	struct ibv_qp_attr attr = rtr_attr(e->peer->qp->qp_num, o);

	attr.ah_attr = path_to(lid_of_port());
	assert_int_equal(to_init(e, o), 0);
	assert_int_equal(ibv_modify_qp(e->qp, &attr, RTR_MASK), 0);
	assert_int_equal(to_rts(e, o), 0);
}

static void path_without_grh_ignores_what_is_in_it(void **state)
{
	struct pair *p;
	uint16_t lid = lid_of_port();
	struct ibv_ah_attr path = path_to(lid);
	struct options o = defaults();
	struct ibv_ah *ah;

	o.timeout = 10;
	p = unconnected_pair(&o);
	connect_by_lid(&p->a, &o);
	connect_by_lid(&p->b, &o);
	p->a.buf[0] = 7;
	do_post(&p->a, 1, IBV_WR_RDMA_WRITE, 8);
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(p->b.buf[0], 7);
	ah = ibv_create_ah(pd, &path);
	assert_non_null(ah);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(path_without_grh_ignores_what_is_in_it),
	};

	/* The emulator's port is what it is asked to be; others take no notice. */
	setenv("SOFTVERBS_LINK_LAYER", "infiniband", 1);
	return RUN(tests);
}
