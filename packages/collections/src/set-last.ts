/**
 * Sets a value as the newest one of a map, and drops the oldest values beyond a bound.
 * @param max values that the map may have.
 * @returns the value.
 */
export function setLast<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): Value {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= max) break;
    map.delete(oldest);
  }
  return value;
}
