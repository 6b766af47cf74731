package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// maxInlined bounds the files of one message, in bytes. As text they must fit
// in one frame of the tunnel, which has at most 100 MiB.
const maxInlined = 64 << 20

// inlined is a message's content with the files of its session in it, as data
// URIs: a runner has no way to our disk. A file that is not there stays named.
func (s *Server) inlined(ctx context.Context, session string, content json.RawMessage) (json.RawMessage, error) {
	if !strings.Contains(string(content), `"file_id"`) {
		return content, nil
	}
	var blocks []map[string]json.RawMessage
	if err := json.Unmarshal(content, &blocks); err != nil {
		return content, nil //nolint:nilerr // it is no list of blocks: nothing is attached
	}
	left := int64(maxInlined)
	for _, b := range blocks {
		id, kind := bareID(text(b["file_id"])), text(b["type"])
		if !isID(id) || kind != "input_file" && kind != "input_image" {
			continue
		}
		f, err := s.db.Read().File(ctx, session, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if left -= f.Bytes; left < 0 {
			return nil, badInput("the files of a message have at most %d MB together", maxInlined>>20)
		}
		uri, err := s.dataURI(f)
		if err != nil {
			return nil, err
		}
		delete(b, "file_id")
		if kind == "input_image" {
			b["image_url"] = uri
			continue
		}
		b["file_data"] = uri
		if isNull(b["filename"]) {
			if b["filename"], err = store.Encode(f.Name); err != nil {
				return nil, err
			}
		}
	}
	return store.Encode(blocks)
}

func (s *Server) dataURI(f *store.File) (json.RawMessage, error) {
	src, err := s.blobs.open(f.Session, f.ID)
	if err != nil {
		return nil, fmt.Errorf("reading file %s: %w", f.ID, err)
	}
	var out strings.Builder
	out.WriteString("data:" + f.ContentType + ";base64,")
	enc := base64.NewEncoder(base64.StdEncoding, &out)
	_, err = io.Copy(enc, src)
	if err = errors.Join(err, enc.Close(), src.Close()); err != nil {
		return nil, fmt.Errorf("reading file %s: %w", f.ID, err)
	}
	return store.Encode(out.String())
}
