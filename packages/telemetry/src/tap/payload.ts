/** The visible form of the arguments and results of a watched call: names and types, or values without those that look secret. Always bounded in size. */
import { hasToken, isObject } from '@omnibus/protocol';

const maxDepth = 6;
const maxMembers = 50;
/** Bounds on the characters of one text, and of everything as JSON. */
const maxText = 500;
const maxLength = 2_048;
const hidden = '•••';
const secretName = /pass|pwd|secret|token|key|cred|auth|cookie|session|signature/i;
const secretText = /-----BEGIN |\b(?:bearer|basic)\s+[\w.~+/=-]{6,}|:\/\/[^\s/@]+@/i;
/** Long runs without a blank are more often keys and pictures than words. */
const opaque = /[\w+/=-]{80,}/;

export function payloadOf(mode: 'shape' | 'redacted', value: unknown): unknown {
  const shown = mode === 'shape' ? shapeOf(value, 0) : redacted(value, 0);
  const text = JSON.stringify(shown);
  return text.length <= maxLength ? shown : `${text.slice(0, maxLength)}… (${text.length} characters)`;
}

function shapeOf(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return `string(${value.length})`;
  if (Array.isArray(value))
    return depth >= maxDepth
      ? `list(${value.length})`
      : [
          ...value.slice(0, 3).map((item) => shapeOf(item, depth + 1)),
          ...(value.length > 3 ? [`and ${value.length - 3} more`] : []),
        ];
  if (isObject(value)) return depth >= maxDepth ? 'object' : membersOf(value, (member) => shapeOf(member, depth + 1));
  return value === null ? 'null' : typeof value;
}

function redacted(value: unknown, depth: number): unknown {
  if (typeof value === 'string')
    return hasToken(value) || secretText.test(value)
      ? hidden
      : opaque.test(value)
        ? `(${value.length} characters)`
        : value.length > maxText
          ? `${value.slice(0, maxText)}… (${value.length} characters)`
          : value;
  if (Array.isArray(value))
    return depth >= maxDepth
      ? `list(${value.length})`
      : [
          ...value.slice(0, maxMembers).map((item) => redacted(item, depth + 1)),
          ...(value.length > maxMembers ? [`and ${value.length - maxMembers} more`] : []),
        ];
  if (isObject(value))
    return depth >= maxDepth
      ? 'object'
      : membersOf(value, (member, name) =>
          secretName.test(name) && typeof member !== 'boolean' ? hidden : redacted(member, depth + 1),
        );
  return value;
}

/** Members without `_meta`, which the gateway and the client use for themselves, and without encrypted states. */
function membersOf(value: object, show: (member: unknown, name: string) => unknown): object {
  const members = Object.entries(value).filter(([name]) => name !== '_meta' && name !== 'requestState');
  return {
    ...Object.fromEntries(
      members.slice(0, maxMembers).map(([name, member]) => [name.slice(0, 100), show(member, name)]),
    ),
    ...(members.length > maxMembers ? { '…': `${members.length - maxMembers} more` } : {}),
  };
}
