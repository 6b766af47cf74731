// Package mutants checks that the tests of the core notice when one of its rules
// is missing. The files under rules name the rules: the lines that make each,
// and a neutral form that leaves it out. TestEveryRuleIsThere requires that the
// lines are where the table says; make mutants, which takes minutes, puts each
// neutral form in the rule's place, alone and in a copy, and requires that a
// test of the core or of catch-up fails.
package mutants
