/**
 * Asks a tool of a configured server. Its arguments are the parameters of `interceptor/invoke` (SEP-2624), its structured content or the JSON of its text is the
 * result. The call is the gateway's own: no caller's credentials go with it, and no guardrail looks at it.
 */
import { isObject, parseJson, parseServerName, type ExchangeId, type JsonObject } from '@omnibus/protocol';
import { gatewayAsCaller } from '../../call/client-of.ts';
import { Exchange } from '../../call/exchange.ts';
import type { ExchangeHost } from '../../call/adapters.ts';
import { maxAnswerBytes } from './message.ts';

export interface ToolHost extends ExchangeHost {
  readonly nextExchangeId: () => ExchangeId;
}

/** @returns the tool's answer. @throws {Error} with the reason, for the operator, why there is none. */
export function askTool(
  host: ToolHost,
  { server, tool }: { readonly server: string; readonly tool: string },
  params: JsonObject,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const exchange = Exchange.start(
      host,
      {
        exchange: host.nextExchangeId(),
        server: parseServerName(server),
        method: 'tools/call',
        params: { name: tool, arguments: params },
        subject: ['tool', tool],
        limits: { callMs: timeoutMs, maxMs: timeoutMs, humanMs: timeoutMs, taskMs: timeoutMs },
        context: {
          ...gatewayAsCaller(),
          capabilities: {},
          logLevel: undefined,
          wantsProgress: false,
        },
      },
      (outcome) => {
        if (outcome.kind === 'fault') reject(new Error(outcome.fault.message));
        else if (outcome.kind === 'error') reject(new Error(`it answers with an error: ${outcome.error.message}`));
        else {
          try {
            resolve(answerOf(outcome.result));
          } catch (error) {
            reject(error as Error);
          }
        }
      },
    );
    signal.addEventListener('abort', () => exchange.cancel('the check was given up'), { once: true });
  });
}

function answerOf({ isError, structuredContent, content }: JsonObject): unknown {
  if (isError === true) throw new Error('it answers that it has failed');
  if (isObject(structuredContent)) {
    if (JSON.stringify(structuredContent).length > maxAnswerBytes)
      throw new Error(`its answer has more than ${maxAnswerBytes} characters`);
    return structuredContent;
  }
  const texts = (Array.isArray(content) ? content : []).flatMap((block: unknown) =>
    isObject(block) && typeof block['text'] === 'string' ? [block['text']] : [],
  );
  const [text] = texts;
  if (text === undefined || texts.length > 1) throw new Error('its answer is not one text or structured content');
  if (text.length > maxAnswerBytes) throw new Error(`its answer has more than ${maxAnswerBytes} characters`);
  try {
    return parseJson(text);
  } catch {
    throw new Error('its text is no JSON');
  }
}
