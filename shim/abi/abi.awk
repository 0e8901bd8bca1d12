# SPDX-License-Identifier: BSD-2-Clause
# Linker version script from the rows of verbs.def (and private.def, for the
# drop-in form): the nodes of libibverbs, in its order, each on top of the one
# before it. No "local: *": hidden visibility does that, and the interposers of
# the preload form must stay global and without a version, to match any.
#	awk -f abi.awk verbs.def [private.def]
/^(FN|SYM)\(/ {
	sub(/^FN\([^,]*, [^,]*, */, "&ibv_")
	split(substr($0, index($0, "(") + 1), field, /, */)
	names[field[1]] = names[field[1]] "\t\t" field[3] ";\n"
}
/^PRIVATE\(/ {
	gsub(/^PRIVATE\(|\)$/, "")
	names["PRIVATE_34"] = names["PRIVATE_34"] "\t\t" $0 ";\n"
	private = 1
}
END {
	if (private)
		names["PRIVATE_34"] = names["PRIVATE_34"] \
			"\t\tverbs_register_driver_34;\n" \
			"\t\tverbs_allow_disassociate_destroy;\n"
	count = split("1.0 1.1 1.5 1.6 1.7 1.8 1.9 1.10 1.11 1.12 1.13 1.14 PRIVATE_34", node, " ")
	for (i = 1; i <= count; i++) {
		printf "IBVERBS_%s {\n\tglobal:\n%s", node[i], names[node[i]]
		if (i == 1 || node[i] ~ /^PRIVATE/)
			printf "};\n"
		else
			printf "} IBVERBS_%s;\n", node[i - 1]
		delete names[node[i]]
	}
	for (left in names) {
		print "abi.awk: no node IBVERBS_" left > "/dev/stderr"
		exit 1
	}
}
