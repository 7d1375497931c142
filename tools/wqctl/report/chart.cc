#include "tools/wqctl/report/chart.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "tools/wqctl/report/html.h"

namespace wqctl {
namespace {

// In SVG units: pixels, unless the page is too narrow.
constexpr double kChartWidth = 380;
constexpr double kColumnsTop = 18;  // The numbers are above.
constexpr double kColumnsBottom = 138;
constexpr double kColumnChartHeight = 158;
constexpr double kLineHeight = 31;  // Of a bar with its label.
constexpr size_t kLabelCharacters = 44;

std::string Number(double value) {
  std::array<char, 32> text{};
  const int n = std::snprintf(text.data(), text.size(), "%.1f", value);
  return {text.data(), static_cast<size_t>(n)};
}

// ` name="value"`
std::string Attribute(const std::string& name, double value) {
  return " " + name + "=\"" + Number(value) + "\"";
}

std::string Rect(const std::string& shade, double x, double y, double width, double height) {
  return "<rect class=\"" + shade + "\"" + Attribute("x", x) + Attribute("y", y) +
         Attribute("width", width) + Attribute("height", height) + " rx=\"2\"/>";
}

std::string Text(const std::string& shade, double x, double y, const std::string& text) {
  return "<text class=\"" + shade + "\"" + Attribute("x", x) + Attribute("y", y) + ">" +
         HtmlText(text) + "</text>";
}

std::string BeginChart(const std::string& title, double height) {
  return "<svg role=\"img\" viewBox=\"0 0 " + Number(kChartWidth) + " " + Number(height) +
         "\" aria-label=\"" + HtmlText(title) + "\">";
}

std::string BeginBar(const Bar& bar) {
  return "<g><title>" + HtmlText(bar.label) + ": " + GroupedCount(bar.count) + "</title>";
}

// The length of a bar; a count above 0 is always visible.
double Scaled(uint64_t count, uint64_t most, double length) {
  if (count == 0) return 0;
  return std::max(2.0, length * static_cast<double>(count) / static_cast<double>(most));
}

uint64_t Most(const Bars& bars) {
  uint64_t most = 1;
  for (const Bar& bar : bars) most = std::max(most, bar.count);
  return most;
}

}  // namespace

std::string ColumnChart(const std::string& title, const Bars& bars, const std::string& shade) {
  const double slot = kChartWidth / static_cast<double>(std::max<size_t>(1, bars.size()));
  const double width = std::min(slot * 0.74, 44.0);
  const uint64_t most = Most(bars);
  std::string svg = BeginChart(title, kColumnChartHeight);
  double middle = slot / 2;
  for (const Bar& bar : bars) {
    const double height = Scaled(bar.count, most, kColumnsBottom - kColumnsTop);
    svg += BeginBar(bar);
    // The whole slot shows the tooltip, even if the column is low.
    svg += Rect("slot", middle - slot / 2, 0, slot, kColumnChartHeight);
    if (bar.count > 0) {
      svg += Rect(shade, middle - width / 2, kColumnsBottom - height, width, height);
      svg += Text("number", middle, kColumnsBottom - height - 5, ShortCount(bar.count));
    }
    svg += Text("tick", middle, kColumnsBottom + 15, bar.tick) + "</g>";
    middle += slot;
  }
  return svg + "<path class=\"axis\" d=\"M0 " + Number(kColumnsBottom + 0.5) + "H" +
         Number(kChartWidth) + "\"/></svg>";
}

std::string BarChart(const std::string& title, const Bars& bars, const std::string& shade) {
  const uint64_t most = Most(bars);
  std::string svg = BeginChart(title, kLineHeight * static_cast<double>(bars.size()));
  double y = 0;
  for (const Bar& bar : bars) {
    svg += BeginBar(bar) + Rect("slot", 0, y, kChartWidth, kLineHeight);
    svg += Text("label", 0, y + 13, CutText(bar.tick, kLabelCharacters));
    svg += Text("end", kChartWidth, y + 13, GroupedCount(bar.count));
    svg += Rect("track", 0, y + 18, kChartWidth, 7);
    svg += Rect(shade, 0, y + 18, Scaled(bar.count, most, kChartWidth), 7) + "</g>";
    y += kLineHeight;
  }
  return svg + "</svg>";
}

}  // namespace wqctl
