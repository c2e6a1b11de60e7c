# A policy for `ferrule-opa-review`. `input` is the object that the reviewer `command` gives a program,
# and `answer` is what it answers; docs/reviewers.md of Ferrule describes both. `data` is house.json.
package ferrule.review

import rego.v1

# The strictest wins: a refusal, then a person, then acceptance. Where nothing fits, a person decides.
default answer := {"decision": "escalate", "reason": "the policy leaves this to a person"}

answer := {"decision": "decline", "reason": concat("; ", refusals), "rule": "refusals"} if {
	count(refusals) > 0
}

answer := {"decision": "accept", "reason": "it stays in the sandbox", "rule": "harmless"} if {
	count(refusals) == 0
	harmless
}

# A command's text can be written in many ways, so these rules are there to explain what is not wanted;
# what holds the fort is the sandbox, and that nothing leaves it without a person.
refusals contains "nothing is downloaded by commands" if {
	regex.match(`(^|\W)(curl|wget)(\W|$)`, input.call.arguments.cmd)
}

refusals contains "changes of the system are for its administrators" if {
	some path in data.closed
	contains(input.call.text, path)
}

harmless if {
	input.escalation == false # not `not input.escalation`, which holds where nothing is said
	input.call.tool in {"exec_command", "apply_patch"}
}
