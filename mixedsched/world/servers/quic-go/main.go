// A file server on quic-go: `mixedsched-quic-go CONFIG`. It answers what CONFIG lists (JSON, written by ../_quic_go.py), and
// leaves all order of bytes to quic-go.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/quic-go/quic-go/http3"
)

// Response is one answer. Target: path and query, as requests have them.
type Response struct {
	Method  string      `json:"method"`
	Host    string      `json:"host"`
	Target  string      `json:"target"`
	File    string      `json:"file"`
	Status  int         `json:"status"`
	DelayMs float64     `json:"delay_ms"`
	Fields  [][2]string `json:"fields"`
}

// Config names the address to listen at, files of the certificate and its key, and all answers.
type Config struct {
	Listen      string     `json:"listen"`
	Certificate string     `json:"certificate"`
	Key         string     `json:"key"`
	Responses   []Response `json:"responses"`
}

type place struct{ method, host, target string }

type site struct {
	exact map[place]*Response
	paths map[place][]*Response // by path without its query
}

func pathOf(target string) string {
	path, _, _ := strings.Cut(target, "?")
	return path
}

func siteOf(responses []Response) site {
	found := site{map[place]*Response{}, map[place][]*Response{}}
	for index := range responses {
		one := &responses[index]
		exact := place{one.Method, one.Host, one.Target}
		if _, known := found.exact[exact]; !known {
			found.exact[exact] = one
		}
		path := place{one.Method, one.Host, pathOf(one.Target)}
		found.paths[path] = append(found.paths[path], one)
	}
	return found
}

func shared(one, other string) int {
	count := 0
	for count < len(one) && count < len(other) && one[count] == other[count] {
		count++
	}
	return count
}

// find prefers the same target; then, of one path, the answer whose query begins alike for longest.
func (s site) find(method, host, target string) *Response {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if found, ok := s.exact[place{method, host, target}]; ok {
		return found
	}
	var best *Response
	for _, one := range s.paths[place{method, host, pathOf(target)}] {
		if best == nil || shared(one.Target, target) > shared(best.Target, target) {
			best = one
		}
	}
	return best
}

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	found := s.find(r.Method, strings.ToLower(host), r.RequestURI)
	if found == nil {
		http.Error(w, "there is nothing here", http.StatusNotFound)
		return
	}
	if found.DelayMs > 0 {
		time.Sleep(time.Duration(found.DelayMs * float64(time.Millisecond)))
	}
	for _, field := range found.Fields {
		w.Header().Add(field[0], field[1])
	}
	if found.File == "" {
		w.WriteHeader(found.Status)
		return
	}
	file, err := os.Open(found.File)
	if err != nil {
		http.Error(w, "there is nothing here any more", http.StatusNotFound)
		return
	}
	defer file.Close()
	if about, err := file.Stat(); err == nil {
		w.Header().Set("content-length", strconv.FormatInt(about.Size(), 10))
	}
	w.WriteHeader(found.Status)
	if r.Method != http.MethodHead {
		io.Copy(w, file)
	}
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == "github.com/quic-go/quic-go" {
				return dependency.Version
			}
		}
	}
	return "of unknown version"
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mixedsched-quic-go CONFIG | --version")
		os.Exit(2)
	}
	if os.Args[1] == "--version" {
		fmt.Println("quic-go", version())
		return
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var config Config
	if err := json.Unmarshal(text, &config); err != nil {
		log.Fatal(err)
	}
	server := http3.Server{Addr: config.Listen, Handler: siteOf(config.Responses)}
	log.Fatal(server.ListenAndServeTLS(config.Certificate, config.Key))
}
