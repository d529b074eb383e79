import { isObject, type JsonObject } from '@omnibus/protocol';

/** What a field of a form may be, as its schema lists it; nothing where it may be anything. */
export function choicesOf(field: JsonObject): readonly string[] {
  const items = isObject(field['items']) ? field['items'] : field;
  if (Array.isArray(items['enum'])) return items['enum'].map(String);
  const many = items['oneOf'] ?? items['anyOf'];
  return Array.isArray(many) ? many.filter(isObject).filter((each) => 'const' in each).map((each) => String(each['const'])) : [];
}
