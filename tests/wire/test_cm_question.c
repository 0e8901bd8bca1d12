/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions of the connection manager: who shares one, and who is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cm_question.h"
#include "progress.h"

#define MS 1000000u

static const struct emu_cm_addr there = {.ip.raw = {[15] = 1}, .port = 7471};
static const struct emu_cm_addr elsewhere = {.ip.raw = {[15] = 1}, .port = 7472};

static uint64_t now;
static struct nic_cm_questions questions;
static uint32_t number;

/* Who was told what: slot + 1, or -1 for refused. */
static int told[100];
static unsigned answers;

uint64_t nic_now(void)
{
	return now;
}

void emu_cm_found(struct emu_dev *dev, uint32_t cookie, uint32_t slot)
{
	told[cookie] = (int)slot + 1;
	answers++;
}

void emu_cm_refused(struct emu_dev *dev, uint32_t cookie)
{
	told[cookie] = -1;
	answers++;
}

static bool ask(const struct emu_cm_addr *dst, uint32_t cookie)
{
	return nic_cm_question_add(&questions, dst, EMU_CM_PS_TCP, cookie, &number);
}

static int start(void **state)
{
	now = 1000 * MS;
	memset(told, 0, sizeof(told));
	answers = 0;
	return 0;
}

static int end(void **state)
{
	nic_cm_questions_free(&questions);
	assert_null(questions.first);
	return 0;
}

static void all_who_ask_at_once_share_one_question_and_its_answer(void **state)
{
	assert_true(ask(&there, 0));
	for (uint32_t cookie = 1; cookie < 50; cookie++)
		assert_false(ask(&there, cookie));
	nic_cm_question_found(&questions, number, NULL, 3);
	for (uint32_t cookie = 0; cookie < 50; cookie++)
		assert_int_equal(told[cookie], 4);
	nic_cm_question_found(&questions, number, NULL, 3);
	nic_cm_question_refused(&questions, number, NULL);
	assert_int_equal(answers, 50);
}

static void other_addresses_and_port_spaces_are_other_questions(void **state)
{
	uint32_t first, other;

	assert_true(ask(&there, 1));
	first = number;
	assert_true(ask(&elsewhere, 2));
	assert_true(nic_cm_question_add(&questions, &there, EMU_CM_PS_UDP, 3, &other));
	nic_cm_question_refused(&questions, first, NULL);
	assert_int_equal(told[1], -1);
	assert_int_equal(told[2], 0);
	assert_int_equal(told[3], 0);
}

static void who_comes_later_asks_again_under_the_same_number(void **state)
{
	uint32_t first;

	assert_true(ask(&there, 1));
	first = number;
	now += 30 * MS;
	assert_true(ask(&there, 2));
	assert_int_equal(number, first);
	now += 30 * MS;
	assert_true(ask(&there, 1));
	nic_cm_question_found(&questions, first, NULL, 0);
	assert_int_equal(told[1], 1);
	assert_int_equal(told[2], 1);
	assert_int_equal(answers, 2);
}

static void an_answer_opens_the_way_for_a_new_question(void **state)
{
	uint32_t first;

	assert_true(ask(&there, 1));
	first = number;
	nic_cm_question_refused(&questions, first, NULL);
	assert_true(ask(&there, 1));
	assert_int_not_equal(number, first);
}

static void questions_that_nobody_answers_are_forgotten(void **state)
{
	uint32_t first;

	assert_true(ask(&there, 1));
	first = number;
	now += 30000ull * MS;
	assert_true(ask(&elsewhere, 2));
	nic_cm_question_found(&questions, first, NULL, 0);
	assert_int_equal(answers, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			all_who_ask_at_once_share_one_question_and_its_answer, start, end),
		cmocka_unit_test_setup_teardown(
			other_addresses_and_port_spaces_are_other_questions, start, end),
		cmocka_unit_test_setup_teardown(who_comes_later_asks_again_under_the_same_number,
	                                        start, end),
		cmocka_unit_test_setup_teardown(an_answer_opens_the_way_for_a_new_question, start,
	                                        end),
		cmocka_unit_test_setup_teardown(questions_that_nobody_answers_are_forgotten, start,
	                                        end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
