// Fetches files over HTTP/3 with quic-go: `quicgo HOST PORT NAME PATH...`, all paths at once on one connection.
// Prints a JSON line for each.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

type line struct {
	Path   string `json:"path"`
	Status int    `json:"status"`
	SHA256 string `json:"sha256"`
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == "github.com/quic-go/quic-go" {
			return dependency.Version + ", " + info.GoVersion
		}
	}
	return "of unknown version"
}

func fetch(client *http.Client, name, path string) (line, error) {
	answer, err := client.Get("https://" + name + path)
	if err != nil {
		return line{}, err
	}
	defer answer.Body.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, answer.Body); err != nil {
		return line{}, err
	}
	return line{path, answer.StatusCode, hex.EncodeToString(hash.Sum(nil))}, nil
}

func main() {
	if os.Args[1] == "--version" {
		fmt.Println(version())
		return
	}
	address, name := net.JoinHostPort(os.Args[1], os.Args[2]), os.Args[3]
	transport := &http3.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // it is loopback, and our own certificate
		Dial: func(ctx context.Context, _ string, tlsConfig *tls.Config, config *quic.Config) (*quic.Conn, error) {
			return quic.DialAddrEarly(ctx, address, tlsConfig, config)
		},
	}
	defer transport.Close()
	client := &http.Client{Transport: transport, Timeout: 120 * time.Second}

	var wait sync.WaitGroup
	var lock sync.Mutex
	failed := false
	for _, path := range os.Args[4:] {
		wait.Add(1)
		go func() {
			defer wait.Done()
			got, err := fetch(client, name, path)
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				fmt.Fprintln(os.Stderr, path, err)
				failed = true
				return
			}
			json.NewEncoder(os.Stdout).Encode(got)
		}()
	}
	wait.Wait()
	if failed {
		os.Exit(1)
	}
}
