/* SPDX-License-Identifier: BSD-2-Clause */
/* The structures that our shim fills have the layout that programs expect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <infiniband/verbs.h>
#include <verbs/device.h>

static const struct {
	const char *what;
	size_t got, expected;
} rows[] = {
#define SIZE(type, bytes) {"sizeof(" #type ")", sizeof(type), bytes},
#define OFFSET(type, field, bytes) {#type "." #field, offsetof(type, field), bytes},
#include "layout.def"
};

static void structures_have_the_layout_of_rdma_core_44(void **state)
{
	if (sizeof(void *) != 8)
		skip();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].got != rows[i].expected)
			print_error("%s\n", rows[i].what);
		assert_int_equal(rows[i].got, rows[i].expected);
	}
}

/* libmlx5 and libefa read their own fields behind struct ibv_device. */
static void a_device_begins_with_the_public_part_and_has_room_behind_it(void **state)
{
	assert_int_equal(offsetof(struct vs_device, ibv), 0);
	assert_int_equal(offsetof(struct vs_device, room), sizeof(struct ibv_device));
	assert_true(VS_DEVICE_ROOM >= 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structures_have_the_layout_of_rdma_core_44),
		cmocka_unit_test(a_device_begins_with_the_public_part_and_has_room_behind_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
