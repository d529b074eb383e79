//! A client on the official Rust SDK. Usage: client URL legacy|auto; prints what it heard as one line of JSON.

#![allow(deprecated)]

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient, model::*, service::RequestContext, transport::StreamableHttpClientTransport,
};
use serde_json::{Value, json};

struct Client;

impl ClientHandler for Client {
    fn get_info(&self) -> ClientInfo {
        let mut info = ClientInfo::default();
        info.capabilities = serde_json::from_value(json!({ "elicitation": { "form": {} } })).expect("capabilities");
        info
    }

    async fn create_elicitation(&self, _: ElicitRequestParams, _: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "username": "a person", "email": "a@example.com" })))
    }
}

/// Results are looked into as the JSON they came in.
fn at(result: impl serde::Serialize, path: &str) -> Value {
    json!(result).pointer(path).cloned().unwrap_or_default()
}

fn parameters<T: serde::de::DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).expect("parameters")
}

#[tokio::main]
async fn main() {
    let url = std::env::args().nth(1).expect("an address");
    let lifecycle = match std::env::args().nth(2).as_deref() {
        Some("legacy") => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None },
    };
    let client = Client.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), lifecycle).await.expect("to connect");
    let tools = client.list_all_tools().await.expect("tools");
    let said = client.call_tool(parameters(json!({ "name": "test_simple_text", "arguments": {} }))).await.expect("words");
    let asked = client.call_tool(parameters(json!({ "name": "test_elicitation", "arguments": { "message": "Who are you?" } }))).await.expect("an answer");
    let read = client.read_resource(parameters(json!({ "uri": "test://static-text" }))).await.expect("a text");
    let prompt = client.get_prompt(parameters(json!({ "name": "test_simple_prompt" }))).await.expect("a prompt");
    println!("{}", json!({
        "revision": at(client.peer_info(), "/protocolVersion"),
        "tools": tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>(),
        "said": at(said, "/content/0/text"),
        "asked": at(asked, "/content/0/text"),
        "read": at(read, "/contents/0/text"),
        "prompt": at(prompt, "/messages/0/content/text"),
    }));
    client.cancel().await.expect("to end");
}
