package screen

// charsets are the four sets that a program may designate, and the one in use.
// A set is named by the final byte that designates it; 0 is ASCII.
type charsets struct {
	sets   [4]byte
	level  int
	active byte // usually sets[level]; ESC 8 brings back the one that was saved
}

func (c *charsets) use(level int) {
	c.level = level
	c.active = c.sets[level]
}

func (c *charsets) designate(level int, set byte) {
	if replacements(set) == nil {
		set = 0
	}
	c.sets[level] = set
	if c.level == level {
		c.active = set
	}
}

func (c *charsets) translate(r rune) rune {
	if c.active == 0 || r >= 0x7f {
		return r
	}
	from := replacements(c.active)
	for i := 0; i < len(from); i += 2 {
		if from[i] == r {
			return from[i+1]
		}
	}
	return r
}

// keeps reports whether a text that is printed stays what it is.
func (c *charsets) keeps(text string) bool {
	for _, r := range text {
		if c.translate(r) != r {
			return false
		}
	}
	return true
}

// replacements are pairs: an ASCII character and what stands for it.
func replacements(set byte) []rune {
	switch set {
	case '0': // DEC's line drawing
		return []rune("`◆a▒b␉c␌d␍e␊f°g±h␤i␋j┘k┐l┌m└n┼o⎺p⎻q─r⎼s⎽t├u┤v┴w┬x│y≤z≥{π|≠}£~·")
	case 'A':
		return []rune("#£")
	case '4':
		return []rune("#£@¾[i\\½]|{¨|f}¼~´")
	case 'C', '5':
		return []rune("[Ä\\Ö]Å^Ü`é{ä|ö}å~ü")
	case 'R':
		return []rune("#£@à[°\\ç]§{é|ù}è~¨")
	case 'Q':
		return []rune("@à[â\\ç]ê^î`ô{é|ù}è~û")
	case 'K':
		return []rune("@§[Ä\\Ö]Ü{ä|ö}ü~ß")
	case 'Y':
		return []rune("#£@§[°\\ç]é`ù{à|ò}è~ì")
	case 'E', '6':
		return []rune("@Ä[Æ\\Ø]Å^Ü`ä{æ|ø}å~ü")
	case 'Z':
		return []rune("#£@§[¡\\Ñ]¿{°|ñ}ç")
	case 'H', '7':
		return []rune("@É[Ä\\Ö]Å^Ü`é{ä|ö}å~ü")
	case '=':
		return []rune("#ù@à[é\\ç]ê^î_è`ô{ä|ö}ü~û")
	}
	return nil
}
