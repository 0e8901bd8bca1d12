# SPDX-License-Identifier: BSD-2-Clause
# Linker version script from the rows of verbs.def (and private.def, for the
# drop-in form) or of rdmacm.def: the nodes of the library, in its order, each
# on top of the one before it. No "local: *": hidden visibility does that, and the interposers of
# the preload form must stay global and without a version, to match any.
#	awk -v prefix=ibv_ -v node=IBVERBS_ -v order="1.0 1.1 ..." -f abi.awk verbs.def [private.def]
/^(FN|SYM)\(/ {
	sub(/^FN\([^,]*, [^,]*, */, "&" prefix)
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
	count = split(order, version, " ")
	for (i = 1; i <= count; i++) {
		printf "%s%s {\n\tglobal:\n%s", node, version[i], names[version[i]]
		if (i == 1 || version[i] ~ /^PRIVATE/)
			printf "};\n"
		else
			printf "} %s%s;\n", node, version[i - 1]
		delete names[version[i]]
	}
	for (left in names) {
		print "abi.awk: no node " node left > "/dev/stderr"
		exit 1
	}
}
