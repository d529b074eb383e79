// Signs in by the OAuth of the official Go SDK. Usage: signin URL; prints the address that its user is to open, then what the tool "echo" says.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	redirect := fmt.Sprintf("http://%s/callback", listener.Addr())
	answers := make(chan *auth.AuthorizationResult, 1)
	go http.Serve(listener, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		query := request.URL.Query()
		answers <- &auth.AuthorizationResult{Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss")}
		fmt.Fprint(response, "done")
	}))
	handler := must(auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "Go SDK", RedirectURIs: []string{redirect}},
		},
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			fmt.Println("open", args.URL)
			return <-answers, nil
		},
	}))
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	session := must(client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1], OAuthHandler: handler}, nil))
	defer session.Close()
	said := must(session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{}}))
	fmt.Println("said", said.Content[0].(*mcp.TextContent).Text)
}
