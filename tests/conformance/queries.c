/* SPDX-License-Identifier: BSD-2-Clause */
/* What the device, its port and their tables say, by every route there is. */
#include "fixture.h"

#include <arpa/inet.h>

static void device_has_an_identity_and_sane_limits(void **state)
{
	struct ibv_device_attr a;

	assert_int_equal(ibv_query_device(ctx, &a), 0);
	assert_true(a.node_guid && a.sys_image_guid && a.vendor_id && a.fw_ver[0]);
	assert_true(a.node_guid == ibv_get_device_guid(ctx->device));
	assert_int_equal(a.phys_port_cnt, 1);
	assert_true(a.max_qp > 0 && a.max_qp_wr > 0 && a.max_sge > 0 && a.max_cq > 0);
	assert_true(a.max_cqe > 0 && a.max_mr > 0 && a.max_pd > 0 && a.max_pkeys > 0);
	assert_true(a.max_qp_rd_atom > 0 && a.max_qp_init_rd_atom > 0 && a.max_res_rd_atom > 0);
	assert_int_not_equal(a.atomic_cap, IBV_ATOMIC_NONE);
}

static void extended_query_agrees_with_the_plain_one(void **state)
{
	struct ibv_device_attr a;
	struct ibv_device_attr_ex ex;

	assert_int_equal(ibv_query_device(ctx, &a), 0);
	assert_int_equal(ibv_query_device_ex(ctx, NULL, &ex), 0);
	assert_memory_equal(&ex.orig_attr, &a, sizeof(a));
	assert_int_equal(ex.phys_port_cnt_ex, a.phys_port_cnt);
}

static void port_is_active_and_fit_for_its_link_layer(void **state)
{
	struct ibv_port_attr a;

	assert_int_equal(ibv_query_port(ctx, 1, &a), 0);
	assert_int_equal(a.state, IBV_PORT_ACTIVE);
	assert_int_equal(a.phys_state, 5);
	assert_true(a.active_mtu >= IBV_MTU_256 && a.active_mtu <= a.max_mtu);
	assert_true(a.gid_tbl_len > 0 && a.pkey_tbl_len > 0);
	assert_true(a.max_msg_sz >= 1u << 30);
	if (a.link_layer == IBV_LINK_LAYER_ETHERNET) {
		assert_int_equal(a.lid, 0);
		assert_true(a.flags & IBV_QPF_GRH_REQUIRED);
	} else {
		assert_int_not_equal(a.lid, 0);
	}
}

static void the_exported_port_query_agrees_with_the_inline_one(void **state)
{
	struct ibv_port_attr a, b;

	memset(&b, 0, sizeof(b));
	assert_int_equal(ibv_query_port(ctx, 1, &a), 0);
	assert_int_equal((ibv_query_port)(ctx, 1, (struct _compat_ibv_port_attr *)&b), 0);
	assert_memory_equal(&a, &b, offsetof(struct ibv_port_attr, port_cap_flags2));
}

static void ports_that_are_not_there_are_refused(void **state)
{
	struct ibv_port_attr a;

	assert_int_equal(ibv_query_port(ctx, 0, &a), EINVAL);
	assert_int_equal(ibv_query_port(ctx, 2, &a), EINVAL);
}

static void every_gid_index_of_the_table_answers(void **state)
{
	struct ibv_port_attr a;
	union ibv_gid gid;

	assert_int_equal(ibv_query_port(ctx, 1, &a), 0);
	for (int i = 0; i < a.gid_tbl_len; i++)
		assert_int_equal(ibv_query_gid(ctx, 1, i, &gid), 0);
	assert_int_equal(ibv_query_gid(ctx, 1, a.gid_tbl_len, &gid), -1);
	assert_int_equal(ibv_query_gid(ctx, 1, -1, &gid), -1);
}

static void gid_table_lists_the_used_entries(void **state)
{
	struct ibv_gid_entry entries[256], entry;
	union ibv_gid gid;
	ssize_t n = ibv_query_gid_table(ctx, entries, 256, 0);

	assert_true(n > 0);
	for (ssize_t i = 0; i < n; i++) {
		assert_int_equal(ibv_query_gid(ctx, 1, entries[i].gid_index, &gid), 0);
		assert_memory_equal(&gid, &entries[i].gid, sizeof(gid));
		assert_int_equal(entries[i].port_num, 1);
		assert_int_equal(ibv_query_gid_ex(ctx, 1, entries[i].gid_index, &entry, 0), 0);
		assert_memory_equal(&entry, &entries[i], sizeof(entry));
	}
	if (n > 1)
		assert_int_equal(ibv_query_gid_table(ctx, entries, n - 1, 0), -EINVAL);
	assert_true(ibv_query_gid_table(ctx, entries, 0, 0) < 0);
}

static void empty_gid_entry_has_no_data(void **state)
{
	struct ibv_port_attr a;
	struct ibv_gid_entry entry;
	union ibv_gid gid, zero = {.raw = {0}};

	assert_int_equal(ibv_query_port(ctx, 1, &a), 0);
	assert_int_equal(ibv_query_gid(ctx, 1, a.gid_tbl_len - 1, &gid), 0);
	if (memcmp(&gid, &zero, sizeof(gid)))
		skip();
	assert_int_equal(ibv_query_gid_ex(ctx, 1, a.gid_tbl_len - 1, &entry, 0), ENODATA);
	assert_int_equal(ibv_query_gid_ex(ctx, 1, a.gid_tbl_len, &entry, 0), EINVAL);
	assert_int_equal(ibv_query_gid_ex(ctx, 2, 0, &entry, 0), EINVAL);
	assert_int_equal(ibv_query_gid_ex(ctx, 1, 0, &entry, 1), EOPNOTSUPP);
}

static void default_pkey_is_at_index_0(void **state)
{
	__be16 pkey = 0;

	assert_int_equal(ibv_query_pkey(ctx, 1, 0, &pkey), 0);
	assert_int_equal(ntohs(pkey), 0xffff);
	assert_int_equal(ibv_get_pkey_index(ctx, 1, htons(0xffff)), 0);
	assert_int_equal(ibv_get_pkey_index(ctx, 1, htons(0x1234)), -1);
	assert_int_equal(ibv_query_pkey(ctx, 1, 1000, &pkey), -1);
}

static void the_device_list_ends_with_null(void **state)
{
	int n = -1;
	struct ibv_device **list = ibv_get_device_list(&n);

	assert_non_null(list);
	assert_true(n > 0);
	assert_null(list[n]);
	assert_non_null(ibv_get_device_name(list[0]));
	ibv_free_device_list(list);
}

static void strings_name_their_values(void **state)
{
	assert_string_equal(ibv_wc_status_str(IBV_WC_SUCCESS), "success");
	assert_non_null(ibv_wc_status_str((enum ibv_wc_status)999));
	assert_non_null(ibv_event_type_str((enum ibv_event_type)999));
	assert_non_null(ibv_port_state_str(IBV_PORT_ACTIVE));
	assert_non_null(ibv_node_type_str(IBV_NODE_CA));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(device_has_an_identity_and_sane_limits),
		TEST(extended_query_agrees_with_the_plain_one),
		TEST(port_is_active_and_fit_for_its_link_layer),
		TEST(the_exported_port_query_agrees_with_the_inline_one),
		TEST(ports_that_are_not_there_are_refused),
		TEST(every_gid_index_of_the_table_answers),
		TEST(gid_table_lists_the_used_entries),
		TEST(empty_gid_entry_has_no_data),
		TEST(default_pkey_is_at_index_0),
		TEST(the_device_list_ends_with_null),
		TEST(strings_name_their_values),
	};

	return RUN(tests);
}
