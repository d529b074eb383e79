// A client by the official Go SDK. Usage: client URL; prints what it heard as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func text(content mcp.Content) string {
	if text, ok := content.(*mcp.TextContent); ok {
		return text.Text
	}
	return fmt.Sprintf("%T", content)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"username": "a person", "email": "a@example.com"}}, nil
		},
	})
	session := must(client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1]}, nil))
	defer session.Close()
	tools := []string{}
	for _, tool := range must(session.ListTools(ctx, nil)).Tools {
		tools = append(tools, tool.Name)
	}
	said := must(session.CallTool(ctx, &mcp.CallToolParams{Name: "test_simple_text", Arguments: map[string]any{}}))
	asked := must(session.CallTool(ctx, &mcp.CallToolParams{Name: "test_elicitation", Arguments: map[string]any{"message": "Who are you?"}}))
	read := must(session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://static-text"}))
	prompt := must(session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "test_simple_prompt"}))
	// Its server closes the stream before it answers, and the client asks for the rest.
	resumed := must(session.CallTool(ctx, &mcp.CallToolParams{Name: "test_reconnection", Arguments: map[string]any{}}))
	must(0, json.NewEncoder(os.Stdout).Encode(map[string]any{
		"revision": session.InitializeResult().ProtocolVersion,
		"tools":    tools,
		"said":     text(said.Content[0]),
		"asked":    text(asked.Content[0]),
		"read":     read.Contents[0].Text,
		"prompt":   text(prompt.Messages[0].Content),
		"resumed":  text(resumed.Content[0]),
	}))
}
