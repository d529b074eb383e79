/** The forms that show a call to a caller or an approver, and the meaning of the answers (2025-06-18 client/elicitation; 2026-07-28 client/elicitation). */
import { drawn } from '@omnibus/catalog';
import { isObject, type ApprovalRecord, type InputAnswer, type JsonObject } from '@omnibus/protocol';

/** Bound on displayed characters of name and arguments. A call with more cannot be approved, since no approver could see all of it. */
export const maxShown = 100_000;

/**
 * All arguments, in readable form.
 * @param args as the server would get them.
 * @returns the number of characters if it exceeds the bound.
 */
export function shown(name: string, args: unknown): string | number {
  const json = JSON.stringify(args ?? {});
  // Written as code points, invisible characters are longer.
  const text = json.length + name.length > maxShown ? json : drawn(json);
  const length = text.length + name.length;
  return length > maxShown ? length : text;
}

/** What can be approved: the call of a tool, a prompt with its arguments, and the read of a resource. */
export type ApprovedKind = 'tool' | 'prompt' | 'resource';

export interface FormFor {
  readonly server: string;
  readonly kind: ApprovedKind;
  /** The server's own name of the tool or prompt, or the URI. */
  readonly name: string;
  readonly rule: string;
  readonly because: string | undefined;
  readonly digest: string;
  /** The arguments, as `shown` writes them. */
  readonly text: string;
  /** Milliseconds for which further calls may be approved; undefined if each call needs an approval. */
  readonly lasts: number | undefined;
}

/** Parameters of `elicitation/create`. Accepting the form is not enough, since some clients accept every form: the box must be ticked. */
export function formOf({ server, kind, name, rule, because, digest, text, lasts }: FormFor): JsonObject {
  const why = `rule "${rule}"${because === undefined ? '' : `: ${because}`}`;
  return {
    mode: 'form',
    message: `This call needs your approval (${why}).\n\nserver: ${server}\n${kind}: ${drawn(name)}${kind === 'resource' ? '' : `\narguments: ${text}`}\nsha256: ${digest}`,
    requestedSchema: {
      type: 'object',
      properties: {
        approve: { type: 'boolean', title: 'Approve this call', description: 'It is made once, as it stands here.' },
        ...(lasts === undefined
          ? {}
          : {
              further: {
                type: 'boolean',
                title: `Also approve further calls for ${timeWords(lasts)}`,
                description: `${furtherWords(kind)}; the gateway does not ask again in this time.`,
                default: false,
              },
            }),
      },
      required: ['approve'],
    },
  };
}

/**
 * Parameters of `elicitation/create` for an approver of another's call. The answer of a client that accepts every form, or takes the
 * first of all choices, leaves the call to others. A call that is too long for a form cannot be approved there.
 */
export function approverForm({
  rule,
  because,
  who,
  principal,
  tenant,
  client,
  server,
  kind,
  tool,
  arguments: args,
  hidden = 0,
  digest,
  until,
  id,
  lasts,
  quorum = 1,
}: ApprovalRecord): JsonObject {
  const caller = `${who.length === 0 ? principal : who.map((each) => drawn(each)).join(', for whom acts ')}${tenant === undefined ? '' : ` of ${drawn(tenant)}`}${client === undefined ? '' : ` (with ${drawn(client)})`}`;
  const rest =
    hidden === 0
      ? ''
      : `\n(${hidden} more characters are not shown, so it cannot be approved here: approve it in the view Approvals of the console, or with "omnibus approvals approve ${id}")`;
  return {
    mode: 'form',
    message: `A call waits for your approval${quorum === 1 ? '' : `, one of ${quorum} that it needs`} (rule "${rule}"${because === undefined ? '' : `: ${because}`}).\n\ncaller: ${caller}\nserver: ${server}\n${kind ?? 'tool'}: ${drawn(tool)}${kind === 'resource' ? '' : `\narguments: ${args}`}${rest}\nsha256: ${digest}\nuntil: ${new Date(until).toISOString()}`,
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Decision',
          oneOf: [
            { const: 'leave', title: 'Leave it to other approvers' },
            ...(hidden === 0 ? [{ const: 'approve', title: 'Approve: it is made once, as it stands here' }] : []),
            ...(hidden === 0 && lasts !== undefined
              ? [
                  {
                    const: 'approve-further',
                    title: `Approve it, and for ${timeWords(lasts)} ${furtherWords(kind)} by the same caller and client`,
                  },
                ]
              : []),
            { const: 'refuse', title: 'Refuse it for everybody' },
          ],
        },
        reason: {
          type: 'string',
          title: 'Reason',
          description: 'What the caller is told if you refuse.',
          maxLength: 500,
        },
      },
      required: ['decision'],
    },
  };
}

/** Whether a client with these capabilities can show a form; one that names no modes can. */
export function takesForms({ elicitation }: JsonObject): boolean {
  return isObject(elicitation) && (!('url' in elicitation) || 'form' in elicitation);
}

/** Calls that an approval for a time covers, in words. */
const furtherWords = (kind: ApprovedKind | undefined): string =>
  kind === 'resource'
    ? 'further reads of this resource'
    : `further calls of this ${kind ?? 'tool'} that the rule asks about, with other arguments too`;

function timeWords(ms: number): string {
  return ms >= 2 * 3_600_000
    ? `${Math.floor(ms / 3_600_000)} hours`
    : `${Math.max(1, Math.floor(ms / 60_000))} minutes`;
}

/** The caller's answer, and whether it approves further calls too. */
export function verdictOf(answer: InputAnswer): {
  readonly verdict: 'approved' | 'refused' | 'impossible';
  readonly isForFurther: boolean;
} {
  if ('error' in answer) return { verdict: 'impossible', isForFurther: false };
  const { action, content } = answer.result;
  const isApproved = action === 'accept' && isObject(content) && content['approve'] === true;
  return { verdict: isApproved ? 'approved' : 'refused', isForFurther: isApproved && content['further'] === true };
}
