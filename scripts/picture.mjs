// SPDX-License-Identifier: Apache-2.0

// The frame of pictures that documents show: a card with a title, in light and dark colours.

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export const escape = (text) => text.replace(/[&<>"]/g, (letter) => ENTITIES[letter]);

/**
 * Returns a picture as SVG text.
 *
 * @param title, description  text for readers who cannot see the picture
 * @param style, dark         CSS rules, and rules that replace them in dark mode
 * @param parts               SVG elements, drawn in this order
 */
export function picture({ width, height, title, description, style, dark, parts }) {
  return `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title description" \
width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<title id="title">${escape(title)}</title>
<desc id="description">${escape(description)}</desc>
<style>
svg { font: 13px system-ui, sans-serif; }
text { fill: #1f2328; }
.back { fill: #ffffff; stroke: #d1d9e0; }
.grid { stroke: #d1d9e0; fill: none; }
.heading { font-size: 15px; font-weight: 600; }
${style.trim()}
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.back { fill: #0d1117; stroke: #30363d; }
.grid { stroke: #30363d; }
${dark.trim()}
}
</style>
<rect class="back" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>
${parts.join('\n')}
</svg>
`;
}
