/** Templates of addresses (RFC 6570): the variables of one, and the address that values make of it. */

const expression = /\{([+#./;?&]?)([^{}]*)\}/g;

const namesIn = (list: string): readonly string[] =>
  list
    .split(',')
    .map((name) => name.replace(/(\*|:\d+)$/, '').trim())
    .filter((name) => name !== '');

export function variablesOf(template: string): readonly string[] {
  return [...new Set([...template.matchAll(expression)].flatMap(([, , list = '']) => namesIn(list)))];
}

/** A variable without a value is left out. */
export function expand(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(expression, (_whole, operator: string, list: string) => {
    const given = namesIn(list).flatMap((name) =>
      (values[name] ?? '') === '' ? [] : [[name, values[name] ?? ''] as const],
    );
    if (given.length === 0) return '';
    const isPlain = operator === '+' || operator === '#';
    const isNamed = operator === '?' || operator === '&' || operator === ';';
    const words = given.map(([name, value]) => {
      const text = isPlain ? encodeURI(value) : encodeURIComponent(value);
      return isNamed ? `${name}=${text}` : text;
    });
    const between = operator === '?' ? '&' : operator === '' || isPlain ? ',' : operator;
    return `${operator === '+' ? '' : operator}${words.join(between)}`;
  });
}
