import { isObject, type JsonObject } from '@omnibus/protocol';

/** The values that the schema of a field, or of its items, lists (`enum`, or `const` in `oneOf` or `anyOf`); empty where it lists none. */
export function choicesOf(field: JsonObject): readonly string[] {
  const items = isObject(field['items']) ? field['items'] : field;
  if (Array.isArray(items['enum'])) return items['enum'].map(String);
  const many = items['oneOf'] ?? items['anyOf'];
  return Array.isArray(many)
    ? many
        .filter(isObject)
        .filter((each) => 'const' in each)
        .map((each) => String(each['const']))
    : [];
}
