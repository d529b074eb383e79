/** What a caller is shown of a call that he has to approve, and what his answer means (2025-06-18 client/elicitation; 2026-07-28 client/elicitation). */
import { drawn } from '@omnibus/catalog';
import { isObject, type InputAnswer, type JsonObject } from '@omnibus/protocol';

/** Characters of arguments that a person is shown: more than that nobody reads, and the digest stands for all of it. */
const maxShown = 4_000;

/** Arguments as they are shown. */
export interface Shown {
  readonly text: string;
  /** Characters that are not shown. */
  readonly hidden: number;
}

/** @param args as the server is to have them. */
export function shown(args: unknown): Shown {
  const text = drawn(JSON.stringify(args ?? {}));
  return text.length <= maxShown ? { text, hidden: 0 } : { text: text.slice(0, maxShown), hidden: text.length - maxShown };
}

export interface FormFor extends Shown {
  readonly server: string;
  readonly tool: string;
  readonly rule: string;
  readonly because: string | undefined;
  readonly digest: string;
}

/** Parameters of `elicitation/create`. To accept a form is not enough, since there are clients that accept them all: the box has to be ticked. */
export function formOf({ server, tool, rule, because, digest, text, hidden }: FormFor): JsonObject {
  const why = `rule "${rule}"${because === undefined ? '' : `: ${because}`}`;
  const rest = hidden === 0 ? '' : `\n(${hidden} more characters are not shown)`;
  return {
    mode: 'form',
    message: `This call needs your approval (${why}).\n\nserver: ${server}\ntool: ${drawn(tool)}\narguments: ${text}${rest}\nsha256: ${digest}`,
    requestedSchema: { type: 'object', properties: { approve: { type: 'boolean', title: 'Approve this call', description: 'It is made once, as it stands here.' } }, required: ['approve'] },
  };
}

/** Whether a client that declared this can be shown a form; one that says nothing of modes can. */
export function takesForms({ elicitation }: JsonObject): boolean {
  return isObject(elicitation) && (!('url' in elicitation) || 'form' in elicitation);
}

export function verdictOf(answer: InputAnswer): 'approved' | 'refused' | 'impossible' {
  if ('error' in answer) return 'impossible';
  const { action, content } = answer.result;
  return action === 'accept' && isObject(content) && content['approve'] === true ? 'approved' : 'refused';
}
