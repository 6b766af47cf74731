package runner

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the installed upstream runner (0.19.1) answers to the same queries.
func TestQueriesOfAPage(t *testing.T) {
	const (
		notInt = `{"type":"int_parsing","loc":["query","limit"],"msg":"Input should be a valid integer, unable to parse string as an integer","input":"%s"}`
		low    = `{"type":"greater_than_equal","loc":["query","limit"],"msg":"Input should be greater than or equal to 1","input":"%s","ctx":{"ge":1}}`
		high   = `{"type":"less_than_equal","loc":["query","limit"],"msg":"Input should be less than or equal to 1000","input":"%s","ctx":{"le":1000}}`
		order  = `{"type":"string_pattern_mismatch","loc":["query","order"],"msg":"String should match pattern '^(asc|desc)$'","input":"%s","ctx":{"pattern":"^(asc|desc)$"}}`
	)
	huge := strings.Repeat("9", 1_000_000)
	for _, c := range []struct {
		query string
		want  paging
		fault string
	}{
		{query: "", want: paging{limit: 20}},
		{query: "limit=1000&order=asc&after=a&before=b", want: paging{limit: 1000, asc: true, after: "a", before: "b"}},
		{query: "limit=1.0", want: paging{limit: 1}},
		{query: "limit=%2B5", want: paging{limit: 5}},
		{query: "limit=%205", want: paging{limit: 5}},
		{query: "limit=1_0", want: paging{limit: 10}},
		{query: "limit=5&limit=7", want: paging{limit: 7}},
		{query: "%zz&limit=5&a;b", want: paging{limit: 5}},
		{query: "after=" + huge, want: paging{limit: 20, after: huge}},
		{query: "limit=0", fault: fmt.Sprintf(low, "0")},
		{query: "limit=-7", fault: fmt.Sprintf(low, "-7")},
		{query: "limit=1001", fault: fmt.Sprintf(high, "1001")},
		{query: "limit=" + huge, fault: fmt.Sprintf(high, huge)},
		{query: "limit=x", fault: fmt.Sprintf(notInt, "x")},
		{query: "limit=", fault: fmt.Sprintf(notInt, "")},
		{query: "limit=1.5", fault: fmt.Sprintf(notInt, "1.5")},
		{query: "limit=1.", fault: fmt.Sprintf(notInt, "1.")},
		{query: "limit=_1", fault: fmt.Sprintf(notInt, "_1")},
		{query: "limit=1__0", fault: fmt.Sprintf(notInt, "1__0")},
		{query: "limit=--1", fault: fmt.Sprintf(notInt, "--1")},
		{query: "order=up", fault: fmt.Sprintf(order, "up")},
		{query: "order=", fault: fmt.Sprintf(order, "")},
		{query: "limit=0&order=z", fault: fmt.Sprintf(low, "0") + "," + fmt.Sprintf(order, "z")},
	} {
		req := httptest.NewRequest("GET", "/", nil)
		req.URL.RawQuery = c.query
		got, faults := pagingOf(queryOf(req))
		name := c.query[:min(len(c.query), 40)]
		if c.fault == "" {
			require.Empty(t, faults, name)
			require.Equal(t, c.want, got, name)
			continue
		}
		raw, err := json.Marshal(faults)
		require.NoError(t, err)
		require.JSONEq(t, "["+c.fault+"]", string(raw), name)
	}
}

func TestPages(t *testing.T) {
	var list []resource
	for n := range 5 {
		list = append(list, resource{ID: fmt.Sprint(n)})
	}
	for _, c := range []struct {
		part paging
		want string // ids, first/last, more
	}{
		{paging{limit: 9, asc: true}, "01234 0/4"},
		{paging{limit: 9}, "43210 4/0"},
		{paging{limit: 2, asc: true}, "01 0/1 more"},
		{paging{limit: 2, asc: true, after: "1"}, "23 2/3 more"},
		{paging{limit: 2, asc: true, after: "2"}, "34 3/4"},
		{paging{limit: 2, after: "4"}, "32 3/2 more"},
		{paging{limit: 2, asc: true, after: "4"}, ""},
		{paging{limit: 2, asc: true, before: "4"}, "23 2/3 more"},
		{paging{limit: 2, asc: true, before: "2"}, "01 0/1"},
		{paging{limit: 2, asc: true, before: "0"}, ""},
		{paging{limit: 2, asc: true, after: "0", before: "4"}, "23 2/3 more"},
		{paging{limit: 9, asc: true, after: "0", before: "4"}, "123 1/3"},
		{paging{limit: 9, asc: true, after: "3", before: "1"}, ""},
		{paging{limit: 2, asc: true, after: "none", before: "none"}, "01 0/1 more"},
	} {
		got := c.part.cut(list)
		var ids strings.Builder
		for _, r := range got.Data {
			ids.WriteString(r.ID)
		}
		text := ids.String()
		if len(got.Data) > 0 {
			text += " " + *got.FirstID + "/" + *got.LastID
		} else {
			require.Nil(t, got.FirstID)
			require.NotNil(t, got.Data)
		}
		if got.HasMore {
			text += " more"
		}
		require.Equal(t, c.want, text, "%+v", c.part)
	}
	require.Equal(t, "0", list[0].ID, "the list itself stays as it is")
}
