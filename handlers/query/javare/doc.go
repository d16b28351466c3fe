// Package javare runs Java's regular expressions on RE2, which is Go's regexp:
// the time of a match is linear in the text, whatever the pattern.
//
// A pattern is parsed as java.util.regex does (parse.go, group.go, escape.go,
// class.go, property.go) into a tree of nodes (node.go), whose classes are plain
// sets of runes (set.go). What RE2 has no word for is rewritten: ^ and $ at
// Java's line ends (lines.go, final.go). The tree is then printed in RE2's syntax
// (print.go). The answer that counts is whether the pattern is found anywhere in
// a text: there are no captures, and greedy and lazy repeats are the same.
//
// Constructs that RE2 can't run are refused by name, never approximated. Where
// versions of Java differ, Java 25 is meant: \b and \w know ASCII only.
package javare
