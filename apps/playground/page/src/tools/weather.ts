const CONDITIONS = ['sunny', 'cloudy', 'rainy', 'windy', 'foggy', 'snowy'];

/** Weather as reported by the demo tool. */
export interface Weather {
  readonly city: string;
  readonly condition: string;
  /** Degrees Celsius. */
  readonly temperature: number;
}

/** Invented weather, always the same for the same city, because the page works offline. */
export function weatherIn(city: string): Weather {
  let hash = 2166136261;
  for (const character of city.trim().toLowerCase()) {
    hash = Math.imul(hash ^ character.codePointAt(0)!, 16777619) >>> 0;
  }
  const condition = CONDITIONS[hash % CONDITIONS.length]!;
  const degrees = Math.floor(hash / CONDITIONS.length) % 30;
  return { city, condition, temperature: condition === 'snowy' ? -(degrees % 12) : degrees };
}
