package config

import (
	"errors"
	"strings"
)

// words splits a command line as a POSIX shell does, and expands nothing.
func words(line string) ([]string, error) {
	var all []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case quote == '\'' && c != quote, quote == '"' && c != quote && c != '\\':
			word.WriteRune(c)
		case c == quote:
			quote = 0
		case c == '\\':
			if i++; i == len(runes) {
				return nil, errors.New("it ends in a backslash")
			}
			if quote == '"' && runes[i] != '"' && runes[i] != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(runes[i])
			inWord = true
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if inWord {
				all = append(all, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quotation is not closed")
	}
	if inWord {
		all = append(all, word.String())
	}
	return all, nil
}
