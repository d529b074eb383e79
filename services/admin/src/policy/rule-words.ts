/** Parts of a rule in words: its callers, its conditions, and its approvals or redactions. */
import type { ArgumentSettings, GrantSettings, RuleSettings } from '@omnibus/policy';

export const textsOf = (texts: string | readonly string[] | undefined): string[] =>
  texts === undefined ? [] : ([texts].flat() as string[]);

/** `group:eng`, `tenant:acme and group:eng`, several with `or`. */
export function whoWords(who: RuleSettings['who']): string {
  const parts = [who].flat() as readonly (string | Readonly<Record<string, string | readonly string[]>>)[];
  return parts
    .map((part) =>
      typeof part === 'string'
        ? part
        : Object.entries(part)
            .map(([kind, value]) =>
              textsOf(value)
                .map((each) => `${kind}:${each}`)
                .join(' or '),
            )
            .join(' and '),
    )
    .join(', or ');
}

export function conditionsOf({ only, args = {}, time, network, when, after }: RuleSettings): string[] {
  const { days, hours, from, until, zone } = time ?? {};
  return [
    ...(only === undefined ? [] : [`the tool says ${textsOf(only).join(' and ')}`]),
    ...Object.entries(args).map(([name, each]) => `${name} ${argumentWords(each)}`),
    ...(time === undefined
      ? []
      : [
          [
            days === undefined ? 'every day' : textsOf(days).join(', '),
            hours,
            from === undefined ? undefined : `from ${from}`,
            until === undefined ? undefined : `until ${until}`,
            zone ?? 'UTC',
          ]
            .filter((each) => each !== undefined)
            .join(' '),
        ]),
    ...(network === undefined ? [] : [`from ${textsOf(network).join(' or ')}`]),
    ...(when === undefined ? [] : [`when ${when}`]),
    ...(after === undefined ? [] : [`after ${textsOf(after).join(' and ')}`]),
  ];
}

function argumentWords({ min, max, in: values, maxLength, pattern, matches, optional }: ArgumentSettings): string {
  const words = [
    ...(min === undefined ? [] : [`at least ${min}`]),
    ...(max === undefined ? [] : [`at most ${max}`]),
    ...(values === undefined ? [] : [`is ${values.map((each) => JSON.stringify(each)).join(' or ')}`]),
    ...(maxLength === undefined ? [] : [`no longer than ${maxLength}`]),
    ...(pattern === undefined ? [] : [`like ${textsOf(pattern).join(' or ')}`]),
    ...(matches === undefined ? [] : [`matches ${textsOf(matches).join(' or ')}`]),
  ];
  return `${words.join(', ')}${optional === true ? ', or left out' : ''}`;
}

/** Who may ask for a grant, for how long, and who approves it. */
export function grantWords({ who, group, lasts, approvers }: GrantSettings): string {
  const gives = group === undefined ? '' : `, as a member of ${group}`;
  return `${whoWords(who)} may ask for ${Math.round(lasts / 60_000)} min${gives}; ${approvers === undefined ? 'any approver' : textsOf(approvers).join(' or ')} approves`;
}

/** The approvers, the redacted parts, or the labels; undefined for other rules. */
export function termsOf({
  ask,
  redact,
  by,
  approvers,
  quorum = 1,
  expires,
  lasts,
  patterns,
  paths,
  unreadable,
  label,
  as,
}: RuleSettings): string | undefined {
  if (ask !== undefined)
    return `${(by ?? (approvers === undefined ? 'caller' : 'approvers')) === 'caller' ? 'the caller approves' : `${approvers === undefined ? 'an operator with the role' : textsOf(approvers).join(' or ')} approves`}${quorum === 1 ? '' : `, ${quorum} of them`}${expires === undefined ? '' : `, within ${Math.round(expires / 1_000)} s`}${lasts === undefined ? '' : `, and further calls for at most ${Math.round(lasts / 60_000)} min`}`;
  if (label !== undefined) return textsOf(as).join(', ');
  if (redact === undefined) return undefined;
  return (
    [...textsOf(patterns), ...textsOf(paths)].join(', ') +
    (unreadable === 'pass' ? '; what cannot be searched passes' : '')
  );
}
