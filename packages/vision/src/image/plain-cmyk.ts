/**
 * CMYK without a profile as RGB, by the formula that browsers and other viewers use: (1 - C) * (1 - K), and so on.
 *
 * @param channels of a pixel: 4, or 5 with an alpha channel, which is laid over white
 */
export function plainCmyk(data: Uint8Array, channels: number): Uint8Array {
  const rgb = new Uint8Array((data.length / channels) * 3);
  for (let from = 0, to = 0; to < rgb.length; from += channels, to += 3) {
    const light = 255 - data[from + 3]!;
    const opacity = channels > 4 ? data[from + 4]! / 255 : 1;
    for (let channel = 0; channel < 3; channel++) {
      const value = ((255 - data[from + channel]!) * light) / 255;
      rgb[to + channel] = Math.round(value * opacity + 255 * (1 - opacity));
    }
  }
  return rgb;
}
