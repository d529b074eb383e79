//! A server on the official Rust SDK that offers what the official conformance suites call, of both eras at one address.
//! What it offers and answers is written as the JSON that goes over the wire. As most servers it asks its client (sampling,
//! elicitation) in the older way only.
//!
//! Usage: server PORT

#![allow(deprecated)]

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::*,
    service::RequestContext,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};

const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// The type of the SDK for a piece of JSON that is known to be one.
fn typed<T: serde::de::DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).expect("JSON of the protocol")
}

fn text(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}

fn resource(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime_type, "text": text } })
}

fn tools() -> Value {
    let plain = [
        ("test_simple_text", "Returns one text"),
        ("test_image_content", "Returns one image"),
        ("test_audio_content", "Returns one sound"),
        ("test_embedded_resource", "Returns one embedded resource"),
        ("test_multiple_content_types", "Returns text, image and resource"),
        ("test_tool_with_logging", "Logs three times"),
        ("test_tool_with_progress", "Reports progress three times"),
        ("test_error_handling", "Fails"),
        ("test_elicitation_sep1034_defaults", "Asks the user with defaults"),
        ("test_elicitation_sep1330_enums", "Asks the user with enumerations"),
        ("test_missing_capability", "Needs sampling"),
        ("test_streaming_elicitation", "Answers without asking"),
        ("test_logging_tool", "Logs once"),
    ];
    let mut tools: Vec<Value> = plain
        .iter()
        .map(|(name, description)| json!({ "name": name, "description": description, "inputSchema": { "type": "object", "properties": {} } }))
        .collect();
    for (name, argument) in [("test_sampling", "prompt"), ("test_elicitation", "message")] {
        tools.push(json!({
            "name": name, "description": "Asks its client",
            "inputSchema": { "type": "object", "properties": { argument: { "type": "string" } }, "required": [argument] },
        }));
    }
    tools.push(json!({
        "name": "json_schema_2020_12_tool", "description": "Has a schema with all the words of 2020-12",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "$defs": { "address": { "$anchor": "addressDef", "type": "object", "properties": { "street": { "type": "string" }, "city": { "type": "string" } } } },
            "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" }, "contactMethod": { "enum": ["phone", "email"] }, "phone": { "type": "string" }, "email": { "type": "string" } },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] }, "else": { "required": ["email"] },
            "additionalProperties": false,
        },
    }));
    json!({ "tools": tools, "ttlMs": 60_000, "cacheScope": "public" })
}

fn prompts() -> Value {
    let argument = |name: &str| json!({ "name": name, "description": "Any text", "required": true });
    json!({ "prompts": [
        { "name": "test_simple_prompt", "description": "A prompt without arguments" },
        { "name": "test_prompt_with_arguments", "description": "A prompt with two arguments", "arguments": [argument("arg1"), argument("arg2")] },
        { "name": "test_prompt_with_embedded_resource", "description": "A prompt with a resource in it", "arguments": [argument("resourceUri")] },
        { "name": "test_prompt_with_image", "description": "A prompt with an image in it" },
    ], "ttlMs": 60_000, "cacheScope": "public" })
}

fn resources() -> Value {
    json!({ "resources": [
        { "uri": "test://static-text", "name": "static-text", "description": "A text", "mimeType": "text/plain" },
        { "uri": "test://static-binary", "name": "static-binary", "description": "An image", "mimeType": "image/png" },
        { "uri": "test://watched-resource", "name": "watched-resource", "description": "A text that may change", "mimeType": "text/plain" },
    ], "ttlMs": 60_000, "cacheScope": "public" })
}

#[derive(Clone)]
struct Server;

impl Server {
    /// Asks in the older way. What goes wrong is said as such tools say it.
    async fn ask(cx: &RequestContext<RoleServer>, message: &str, schema: Value) -> Value {
        let question = ElicitRequestParams::FormElicitationParams { meta: None, message: message.into(), requested_schema: typed(schema) };
        match cx.peer.create_elicitation(question).await {
            Ok(answer) => text(format!("Elicitation completed: {}", json!(answer))),
            Err(error) => json!({ "isError": true, "content": [{ "type": "text", "text": format!("The client could not be asked: {error}") }] }),
        }
    }

    async fn log(cx: &RequestContext<RoleServer>, words: &str) {
        let _ = cx.peer.notify_logging_message(LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(words))).await;
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerInfo {
        ServerInfo::new(typed(json!({ "tools": {}, "prompts": {}, "resources": { "subscribe": true }, "logging": {}, "completions": {} })))
            .with_server_info(Implementation::new("rust-sdk", "1.0.0"))
            .with_instructions("What the conformance suites call, in Rust.")
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        Ok(typed(tools()))
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListPromptsResult, ErrorData> {
        Ok(typed(prompts()))
    }

    async fn list_resources(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListResourcesResult, ErrorData> {
        Ok(typed(resources()))
    }

    async fn list_resource_templates(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(typed(json!({
            "resourceTemplates": [{ "uriTemplate": "test://template/{id}/data", "name": "template", "description": "Data by id", "mimeType": "application/json" }],
            "ttlMs": 60_000, "cacheScope": "public",
        })))
    }

    async fn call_tool(&self, request: CallToolRequestParams, cx: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
        let result = match request.name.as_ref() {
            "test_simple_text" => text("This is a simple text response for testing."),
            "test_image_content" => json!({ "content": [{ "type": "image", "data": IMAGE, "mimeType": "image/png" }] }),
            "test_audio_content" => json!({ "content": [{ "type": "audio", "data": SOUND, "mimeType": "audio/wav" }] }),
            "test_embedded_resource" => json!({ "content": [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")] }),
            "test_multiple_content_types" => json!({ "content": [
                { "type": "text", "text": "Multiple content types test:" },
                { "type": "image", "data": IMAGE, "mimeType": "image/png" },
                resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
            ] }),
            "test_tool_with_logging" => {
                for step in ["started", "processing data", "completed"] {
                    Self::log(&cx, &format!("Tool execution {step}")).await;
                }
                text("Tool with logging executed successfully")
            }
            "test_tool_with_progress" => {
                if let Some(token) = cx.meta.get_progress_token() {
                    for done in [0.0, 50.0, 100.0] {
                        let _ = cx.peer.notify_progress(ProgressNotificationParam::new(token.clone(), done).with_total(100.0)).await;
                    }
                }
                text("done")
            }
            "test_error_handling" => json!({ "isError": true, "content": [{ "type": "text", "text": "This tool intentionally returns an error for testing" }] }),
            "test_sampling" => {
                let question = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(argument("prompt"))], 100);
                match cx.peer.create_message(question).await {
                    Ok(answer) => text(format!("LLM response: {}", json!(answer))),
                    Err(error) => json!({ "isError": true, "content": [{ "type": "text", "text": format!("The client could not be asked: {error}") }] }),
                }
            }
            "test_elicitation" => {
                let user = json!({ "type": "object", "properties": { "username": { "type": "string" }, "email": { "type": "string" } }, "required": ["username", "email"] });
                Self::ask(&cx, &argument("message"), user).await
            }
            "test_elicitation_sep1034_defaults" => {
                let defaults = json!({ "type": "object", "properties": {
                    "name": { "type": "string", "default": "John Doe" },
                    "age": { "type": "integer", "default": 30 },
                    "score": { "type": "number", "default": 95.5 },
                    "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
                    "verified": { "type": "boolean", "default": true },
                } });
                Self::ask(&cx, "Please confirm", defaults).await
            }
            "test_elicitation_sep1330_enums" => {
                let titled = json!([{ "const": "value1", "title": "First" }, { "const": "value2", "title": "Second" }]);
                let choices = json!({ "type": "object", "properties": {
                    "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
                    "titledSingle": { "type": "string", "oneOf": titled },
                    "legacyEnum": { "type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"] },
                    "untitledMulti": { "type": "array", "items": { "type": "string", "enum": ["option1", "option2"] } },
                    "titledMulti": { "type": "array", "items": { "anyOf": titled } },
                } });
                Self::ask(&cx, "Please choose", choices).await
            }
            "test_missing_capability" => {
                if cx.meta.client_capabilities().is_none_or(|capabilities| capabilities.sampling.is_none()) {
                    return Err(ErrorData::missing_required_client_capability(typed(json!({ "sampling": {} }))));
                }
                text("The capability is there")
            }
            "test_streaming_elicitation" => text("done"),
            "test_logging_tool" => {
                if cx.meta.log_level().is_some() {
                    Self::log(&cx, "a message").await;
                }
                text("logged")
            }
            "json_schema_2020_12_tool" => text("done"),
            unknown => return Err(ErrorData::invalid_params(format!("Unknown tool: {unknown}"), None)),
        };
        Ok(typed::<CallToolResult>(result).into())
    }

    async fn read_resource(&self, request: ReadResourceRequestParams, _: RequestContext<RoleServer>) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let contents = match uri {
            "test://static-text" => json!({ "uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource." }),
            "test://static-binary" => json!({ "uri": uri, "mimeType": "image/png", "blob": IMAGE }),
            "test://watched-resource" => json!({ "uri": uri, "mimeType": "text/plain", "text": "Watched resource content" }),
            _ => match id {
                Some(id) => json!({ "uri": uri, "mimeType": "application/json", "text": json!({ "id": id, "templateTest": true }).to_string() }),
                None => return Err(ErrorData::resource_not_found("There is no such resource", Some(json!({ "uri": uri })))),
            },
        };
        Ok(typed::<ReadResourceResult>(json!({ "contents": [contents], "ttlMs": 60_000, "cacheScope": "public" })).into())
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, _: RequestContext<RoleServer>) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
        let said = |words: &str| json!({ "role": "user", "content": { "type": "text", "text": words } });
        let messages = match request.name.as_str() {
            "test_simple_prompt" => json!([said("This is a simple prompt for testing.")]),
            "test_prompt_with_arguments" => json!([said(&format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2")))]),
            "test_prompt_with_embedded_resource" => json!([
                { "role": "user", "content": resource(&argument("resourceUri"), "text/plain", "Embedded resource content for testing.") },
                said("Please process the embedded resource above."),
            ]),
            "test_prompt_with_image" => json!([
                { "role": "user", "content": { "type": "image", "data": IMAGE, "mimeType": "image/png" } },
                said("Please analyze the image above."),
            ]),
            unknown => return Err(ErrorData::invalid_params(format!("Unknown prompt: {unknown}"), None)),
        };
        Ok(typed::<GetPromptResult>(json!({ "messages": messages })).into())
    }

    async fn complete(&self, request: CompleteRequestParams, _: RequestContext<RoleServer>) -> Result<CompleteResult, ErrorData> {
        let values: Vec<&str> = ["paris", "park", "party"].into_iter().filter(|name| name.starts_with(&request.argument.value)).collect();
        Ok(typed(json!({ "completion": { "values": values } })))
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }
}

#[tokio::main]
async fn main() {
    let port = std::env::args().nth(1).expect("a port");
    let service = StreamableHttpService::new(|| Ok(Server), LocalSessionManager::default().into(), StreamableHttpServerConfig::default());
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await.expect("a free port");
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await.expect("to serve");
}
