package runner

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The bounds of a page (terminals.md 1.3).
const (
	pageDefault = 20
	pageMost    = 1000
)

// paging is which part of a list is asked for.
type paging struct {
	limit         int
	after, before string
	asc           bool
}

// fault says what is wrong with one parameter, in the words that callers of the
// wire expect.
type fault struct {
	Type  string         `json:"type"`
	Loc   [2]string      `json:"loc"`
	Msg   string         `json:"msg"`
	Input any            `json:"input"`
	Ctx   map[string]any `json:"ctx,omitempty"`
}

// queryOf reads a query as far as it can be read.
func queryOf(req *http.Request) url.Values {
	query, _ := url.ParseQuery(req.URL.RawQuery) // what is no pair names nothing
	return query
}

// param is a parameter's last value: a later one takes the place of an earlier.
func param(query url.Values, name string) (value string, given bool) {
	values := query[name]
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

// pagingOf reads the parameters of a list.
func pagingOf(query url.Values) (p paging, faults []fault) {
	p.limit, faults = wholeNumber(query, "limit", pageDefault, 1, pageMost)
	p.after, _ = param(query, "after")
	p.before, _ = param(query, "before")
	order, given := param(query, "order")
	if given && order != "asc" && order != "desc" {
		faults = append(faults, fault{
			Type: "string_pattern_mismatch", Loc: [2]string{"query", "order"}, Msg: "String should match pattern '^(asc|desc)$'",
			Input: order, Ctx: map[string]any{"pattern": "^(asc|desc)$"},
		})
	}
	p.asc = order == "asc"
	return p, faults
}

func wholeNumber(query url.Values, name string, otherwise, least, most int) (int, []fault) {
	text, given := param(query, name)
	if !given {
		return otherwise, nil
	}
	wrong := fault{Loc: [2]string{"query", name}, Input: text}
	n, ok := integer(text)
	switch {
	case !ok:
		wrong.Type, wrong.Msg = "int_parsing", "Input should be a valid integer, unable to parse string as an integer"
	case n < least:
		wrong.Type, wrong.Ctx = "greater_than_equal", map[string]any{"ge": least}
		wrong.Msg = "Input should be greater than or equal to " + strconv.Itoa(least)
	case n > most:
		wrong.Type, wrong.Ctx = "less_than_equal", map[string]any{"le": most}
		wrong.Msg = "Input should be less than or equal to " + strconv.Itoa(most)
	default:
		return n, nil
	}
	return 0, []fault{wrong}
}

// integer reads a whole number as the upstream runner does: spaces around it, a
// sign, zeros behind a point and single underscores between digits are fine. One
// that is too large for us is as large as we can say.
func integer(text string) (int, bool) {
	text = strings.TrimSpace(text)
	if whole, zeros, ok := strings.Cut(text, "."); ok && zeros != "" && strings.Trim(zeros, "0") == "" {
		text = whole
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
	if len(text)-len(digits) > 1 || strings.Contains(digits, "__") || strings.HasPrefix(digits, "_") || strings.HasSuffix(digits, "_") {
		return 0, false
	}
	digits = strings.ReplaceAll(digits, "_", "")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		n = 1<<31 - 1
	}
	if strings.HasPrefix(text, "-") {
		n = -n
	}
	return int(n), true
}

// page is a part of a list, in the exact shape that the server wants.
type page struct {
	Object  string     `json:"object"`
	Data    []resource `json:"data"`
	FirstID *string    `json:"first_id"`
	LastID  *string    `json:"last_id"`
	HasMore bool       `json:"has_more"`
}

// cut takes the part: a cursor that is not in the list is as none; before takes
// the part that ends at its cursor, and more is more in that direction.
func (p paging) cut(list []resource) page {
	list = slices.Clone(list)
	if !p.asc {
		slices.Reverse(list)
	}
	at := func(id string) int {
		return slices.IndexFunc(list, func(r resource) bool { return r.ID == id })
	}
	start := at(p.after) + 1
	end := at(p.before)
	out := page{Object: "list"}
	if end >= 0 {
		first := max(start, end-p.limit)
		out.Data, out.HasMore = list[min(first, end):end], first > start
	} else {
		end = min(len(list), start+p.limit)
		out.Data, out.HasMore = list[start:end], end < len(list)
	}
	if len(out.Data) == 0 {
		out.Data = []resource{}
		return out
	}
	out.FirstID, out.LastID = &out.Data[0].ID, &out.Data[len(out.Data)-1].ID
	return out
}
